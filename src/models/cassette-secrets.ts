import { formsOf, isSecretHeader, knownForms } from './known-secrets.js';

/** The secrets that this process knows and those that a request carries in its headers, in the forms in which they can come back. */
export function secretsOf(headers: Headers): readonly string[] {
  const values = [...headers].filter(([name]) => isSecretHeader(name)).map(([, value]) => value);
  const forms = values.flatMap((value) => [value, ...value.split(/\s+/)]).flatMap(formsOf);
  return [...new Set([...forms, ...knownForms()])].toSorted((a, b) => b.length - a.length);
}

/** The text with a star for each character of a secret, so that nothing else of it moves. */
export function starred(text: string, secrets: readonly string[]): string {
  let clean = text;
  for (const secret of secrets) clean = clean.replaceAll(secret, '*'.repeat(secret.length));
  return clean;
}

/** The same for pieces of bytes, in which a secret may be cut. A secret is ASCII: one character for each byte keeps all else. */
export function starredPieces(pieces: readonly Uint8Array[], secrets: readonly string[]): readonly Uint8Array[] {
  const clean = Buffer.from(starred(Buffer.concat(pieces).toString('latin1'), secrets), 'latin1');
  let start = 0;
  return pieces.map(({ length }) => {
    start += length;
    return clean.subarray(start - length, start);
  });
}
