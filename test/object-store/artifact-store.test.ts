import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type ArtifactStore, artifactBucket, artifactFolder } from '../../src/object-store/artifact-store.js';
import { ObjectStore } from '../../src/object-store/object-store.js';
import { BUCKET, KEYS, REGION, type S3Server, startS3 } from './s3-server.js';

/** The contract of a place for artifacts, on a disk and in an object store. */

const [RUN, OTHER] = ['run_a', 'run_b'];
const MISSING = { sha256: '0'.repeat(64), sizeBytes: 3 };

const suite = (
  open: () => { store: ArtifactStore; keys: () => string[]; forge: (sha256: string, text: string) => void },
) => {
  it('keeps each content once under its run, and removes those of one run', async () => {
    const { store, keys } = open();
    const first = await store.put(RUN, Buffer.from('one'));
    const before = keys();
    expect(await store.put(RUN, Buffer.from('one'))).toEqual(first);
    expect(keys()).toEqual(before);
    const large = Buffer.alloc(6 * 1024 * 1024, 'x');
    const big = await store.put(RUN, large);
    const same = await store.put(OTHER, Buffer.from('one'));
    expect(await store.read(RUN, first)).toEqual({ type: 'whole', bytes: Buffer.from('one') });
    expect((await store.read(RUN, big)).type).toBe('whole');
    expect(await store.read(RUN, MISSING)).toEqual({ type: 'missing' });
    await store.remove(RUN);
    await store.remove(RUN);
    expect(await store.read(RUN, first)).toEqual({ type: 'missing' });
    expect((await store.read(OTHER, same)).type).toBe('whole');
  });

  it('says when the content is another one, of any size', async () => {
    const { store, forge } = open();
    const kept = await store.put(OTHER, Buffer.from('two'));
    forge(kept.sha256, 'too');
    expect(await store.read(OTHER, kept)).toEqual({ type: 'differs' });
    forge(kept.sha256, 'x'.repeat(9_000_000));
    expect(await store.read(OTHER, kept)).toEqual({ type: 'differs' });
  });
};

describe('artifacts in a directory', () => {
  const dir = mkdtempSync(join(tmpdir(), 'holdfast-artifacts-'));
  afterAll(() => rmSync(dir, { recursive: true }));
  suite(() => ({
    store: artifactFolder(dir),
    keys: () => readdirSync(join(dir, RUN)),
    forge: (sha256, text) => writeFileSync(join(dir, OTHER, sha256), text),
  }));

  it('names the directory that cannot be written', async () => {
    writeFileSync(join(dir, 'file'), '');
    const put = artifactFolder(join(dir, 'file')).put(RUN, Buffer.from('x'));
    await expect(put).rejects.toMatchObject({ code: 'artifacts_unwritable', message: expect.stringContaining(dir) });
  });
});

describe('artifacts in an object store', () => {
  let server: S3Server;
  beforeAll(async () => {
    server = await startS3();
  });
  afterAll(() => server.close());
  suite(() => {
    const credentials = { read: async () => ({ ...KEYS, sessionToken: null }), renewed: async () => null };
    const store = new ObjectStore({
      ...{ endpoint: server.url, region: REGION, credentials, idleMs: 2000, patienceMs: 500 },
    });
    return {
      store: artifactBucket(store, { bucket: BUCKET, prefix: 'kept/artifacts' }),
      keys: () => [...server.objects.keys()],
      forge: (sha256, text) => {
        for (const [key, stored] of server.objects)
          if (key.endsWith(`${OTHER}/${sha256}`)) server.objects.set(key, { ...stored, content: Buffer.from(text) });
      },
    };
  });
});
