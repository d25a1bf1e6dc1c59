import { textsBy } from '../../core/exports/redaction.js';
import type { JsonValue } from '../../core/json.js';
import { isSecretHeader, knowSecret, starredSecrets } from '../secrets/known-secrets.js';

/** Makes known what a request carries as secret in its headers. */
export function knowHeaders(headers: Headers): void {
  for (const [name, value] of headers)
    if (isSecretHeader(name)) for (const part of [value, ...value.split(/\s+/)]) knowSecret(part);
}

/** The value with a star for each character of a secret, so that nothing else of it moves. */
export const starredIn: (value: JsonValue) => JsonValue = textsBy(starredSecrets);

/** The same for pieces of bytes, in which a secret may be cut. One character for each byte keeps all else. */
export function starredPieces(pieces: readonly Uint8Array[]): readonly Uint8Array[] {
  const clean = Buffer.from(starredSecrets(Buffer.concat(pieces).toString('latin1')), 'latin1');
  let start = 0;
  return pieces.map(({ length }) => {
    start += length;
    return clean.subarray(start - length, start);
  });
}
