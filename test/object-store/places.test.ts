import { expect, test } from 'vitest';
import { openArtifacts } from '../../src/engine/exports/open-object-store.js';

const refused = (artifacts: string, shown = artifacts) =>
  expect(() => openArtifacts({ agents: [], artifacts })).toThrow(
    expect.objectContaining({ code: 'config_invalid', message: expect.stringContaining(shown) }),
  );

test('artifacts go to no folder with the name of an address', () => {
  for (const address of ['S3://bucket/artifacts', 'ftp://host/artifacts', 'https://host/artifacts', 's3://'])
    refused(address);
  refused('ftp://ann:a-password-of-ann@host/x', '[redacted]@host/x');
  openArtifacts({ agents: [], artifacts: './s3/artifacts' });
});
