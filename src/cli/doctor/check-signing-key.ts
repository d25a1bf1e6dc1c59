import type { Settings } from '../../config.js';
import { openLogKeys } from '../../engine/evidence/log-keys.js';
import type { Secret } from '../../models/secrets/secret.js';
import { type Finding, failed, ok, warn } from './finding.js';

const CHECK = 'signing key';

/** Whether the log over all runs is signed here. Reads the key; makes none. */
export async function checkSigningKey(
  { databaseUrl, dataDir, signingKeyFile: keyFile }: Pick<Settings, 'databaseUrl' | 'dataDir' | 'signingKeyFile'>,
  key: Secret | null,
): Promise<Finding> {
  if (keyFile === null && key === null)
    return databaseUrl === null
      ? ok(CHECK, `that of ${dataDir}, which is made at the first start`)
      : warn(
          CHECK,
          'none: no checkpoint is signed, and nothing proves what runs did to somebody who does not trust this database',
          'Make one with `holdfast signing-key make <file>`, and set HOLDFAST_SIGNING_KEY_FILE: docs/evidence.md.',
        );
  try {
    const { signing } = await openLogKeys({ keyFile, key, publicKeys: [], madeIn: null });
    return ok(CHECK, `signs as ${signing?.public.name ?? 'nobody'}`);
  } catch (error) {
    return failed(CHECK, error);
  }
}
