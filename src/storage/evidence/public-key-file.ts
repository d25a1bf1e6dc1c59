import { appendFileSync } from 'node:fs';
import { z } from 'zod';
import { readKeyFile } from '../database/data-dir/key-file.js';

/**
 * A public key of a log, and the note by which the key before handed over to it; null: it was the first. `revocation`: the note by
 * which it was revoked later.
 */
const line = z.object({
  key: z.string(),
  handover: z.string().nullable(),
  revocation: z.string().exactOptional(),
});
export type PublicKeyLine = z.infer<typeof line>;

/** The file of public keys that stands beside the one of a signing key. */
export const publicKeysOf = (keyFile: string): string => `${keyFile}.pub`;

/** Every public key that a key file has had, the oldest first. Throws what names the line that is none. */
export function readPublicKeys(path: string): readonly PublicKeyLine[] {
  const lines = (readKeyFile(path) ?? '').split('\n').filter((text) => text !== '');
  return lines.map((text, index) => {
    try {
      return line.parse(JSON.parse(text));
    } catch (cause) {
      throw new Error(`line ${index + 1} is no public key`, { cause });
    }
  });
}

export const addPublicKey = (path: string, one: PublicKeyLine): void =>
  appendFileSync(path, `${JSON.stringify(one)}\n`, { mode: 0o600, flush: true });
