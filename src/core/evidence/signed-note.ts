import { createPrivateKey, createPublicKey, hash, type KeyObject, sign, verify } from 'node:crypto';

/**
 * Signed notes (C2SP signed-note, https://c2sp.org/signed-note) with Ed25519: a text, an empty line, and lines
 * `— <name> <base64 of 4 bytes of key id and the signature>`. Keys are written as Go's `golang.org/x/mod/sumdb/note` writes them:
 * `<name>+<id>+<base64>` is public, `PRIVATE+KEY+<name>+<id>+<base64>` signs.
 */

const ED25519 = 1;
const KEY_BYTES = 32;
const SIGNATURE_BYTES = 64;
const MAX_SIGNATURES = 100;
const SEED_DER = Buffer.from('302e020100300506032b657004220420', 'hex');
const PRIVATE = 'PRIVATE+KEY+';
// biome-ignore lint/suspicious/noControlCharactersInRegex: the format forbids them
const CONTROLS = /[\x00-\x09\x0b-\x1f]/;
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

export interface NoteKey {
  readonly name: string;
  /** Eight hex digits. */
  readonly id: string;
  /** The public key as text. */
  readonly text: string;
  readonly key: KeyObject;
}

export interface SigningKey {
  readonly key: KeyObject;
  readonly public: NoteKey;
}

/** Names have no space, no plus and no control character. */
export const isKeyName = (name: string): boolean =>
  /^[^\s+]{1,200}$/u.test(name) && !CONTROLS.test(name) && name.isWellFormed();

function idOf(name: string, bytes: Buffer): string {
  const tagged = Buffer.concat([Buffer.from(`${name}\n`, 'utf8'), Buffer.of(ED25519), bytes]);
  return hash('sha256', tagged, 'hex').slice(0, 8);
}

const written = (name: string, id: string, bytes: Buffer): string =>
  `${name}+${id}+${Buffer.concat([Buffer.of(ED25519), bytes]).toString('base64')}`;

function parts(text: string): { readonly name: string; readonly id: string; readonly bytes: Buffer } | null {
  const [, name, id, base64] = /^([^\s+]{1,200})\+([0-9a-f]{8})\+(\S{44,48})$/u.exec(text) ?? [];
  if (name === undefined || id === undefined || base64 === undefined || !BASE64.test(base64)) return null;
  if (!isKeyName(name)) return null;
  const all = Buffer.from(base64, 'base64');
  return all.length === 1 + KEY_BYTES && all[0] === ED25519 ? { name, id, bytes: all.subarray(1) } : null;
}

/** Null: the text is no public key of Ed25519, or its id is not that of the key. */
export function parsePublicKey(text: string): NoteKey | null {
  const read = parts(text);
  if (read === null || read.id !== idOf(read.name, read.bytes)) return null;
  const jwk = { kty: 'OKP', crv: 'Ed25519', x: read.bytes.toString('base64url') };
  return { name: read.name, id: read.id, text, key: createPublicKey({ key: jwk, format: 'jwk' }) };
}

function keyOfSeed(name: string, seed: Buffer): SigningKey {
  const key = createPrivateKey({ key: Buffer.concat([SEED_DER, seed]), format: 'der', type: 'pkcs8' });
  const { x = '' } = createPublicKey(key).export({ format: 'jwk' });
  const bytes = Buffer.from(x, 'base64url');
  const id = idOf(name, bytes);
  return { key, public: { name, id, text: written(name, id, bytes), key: createPublicKey(key) } };
}

/** Null: the text is no signing key of Ed25519. */
export function parseSigningKey(text: string): SigningKey | null {
  const read = text.startsWith(PRIVATE) ? parts(text.slice(PRIVATE.length)) : null;
  if (read === null) return null;
  const made = keyOfSeed(read.name, read.bytes);
  return made.public.id === read.id ? made : null;
}

/** The text of a signing key from 32 random bytes. */
export const signingKeyText = (name: string, seed: Buffer): string =>
  `${PRIVATE}${written(name, keyOfSeed(name, seed).public.id, seed)}`;

/** `text` ends with a line feed. The same text and keys always give the same note. */
export function signNote(text: string, ...keys: readonly SigningKey[]): string {
  const lines = keys.map(({ key, public: { name, id } }) => {
    const bytes = Buffer.concat([Buffer.from(id, 'hex'), sign(null, Buffer.from(text, 'utf8'), key)]);
    return `— ${name} ${bytes.toString('base64')}\n`;
  });
  return `${text}\n${lines.join('')}`;
}

interface NoteSignature {
  readonly name: string;
  readonly id: string;
  readonly bytes: Buffer;
}

export interface SignedNote {
  readonly text: string;
  readonly signatures: readonly NoteSignature[];
}

function signatureOf(line: string): NoteSignature | null {
  const [, name, base64] = /^— (\S{1,200}) (\S{1,2000})$/u.exec(line) ?? [];
  if (name === undefined || base64 === undefined || !isKeyName(name) || !BASE64.test(base64)) return null;
  const bytes = Buffer.from(base64, 'base64');
  return bytes.length < 5 ? null : { name, id: bytes.toString('hex', 0, 4), bytes: bytes.subarray(4) };
}

/** Takes a note apart without judging its signatures. Null: it is none. */
export function openNote(note: string): SignedNote | null {
  const end = note.lastIndexOf('\n\n');
  if (end < 0 || !note.endsWith('\n') || CONTROLS.test(note) || !note.isWellFormed()) return null;
  const lines = note.slice(end + 2, -1).split('\n');
  if (lines.length > MAX_SIGNATURES) return null;
  const signatures = lines.map(signatureOf);
  if (signatures.some((one) => one === null)) return null;
  return { text: note.slice(0, end + 1), signatures: signatures.filter((one) => one !== null) };
}

/** Those of the keys that have signed the note. A wrong signature of a known key makes the whole note worthless. */
export function signersOf(note: SignedNote, keys: readonly NoteKey[]): readonly NoteKey[] {
  const signers: NoteKey[] = [];
  for (const { name, id, bytes } of note.signatures) {
    const key = keys.find((one) => one.name === name && one.id === id);
    if (key === undefined) continue;
    const fits = bytes.length === SIGNATURE_BYTES && verify(null, Buffer.from(note.text, 'utf8'), key.key, bytes);
    if (!fits) return [];
    signers.push(key);
  }
  return signers;
}
