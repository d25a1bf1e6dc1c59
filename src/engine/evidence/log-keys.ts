import { randomBytes } from 'node:crypto';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { HoldfastError } from '../../core/errors/errors.js';
import { signHandover, signRevocation, type TrustedKey, trustedBy } from '../../core/evidence/key-handover.js';
import {
  isKeyName,
  type NoteKey,
  parsePublicKey,
  parseSigningKey,
  type SigningKey,
  signingKeyText,
} from '../../core/evidence/signed-note.js';
import { knowSecret } from '../../models/secrets/known-secrets.js';
import { fileSecret, type Secret } from '../../models/secrets/secret.js';
import { makeKeyFile, readKeyFile, replaceKeyFile } from '../../storage/database/data-dir/private-files.js';
import { addPublicKey, publicKeysOf, readPublicKeys } from '../../storage/evidence/checkpoints.js';
import { readSignedRecord, signedRecordOf } from '../../storage/evidence/signed-record.js';

/** With which keys checkpoints of the log are signed and checked. */
export interface LogKeys {
  /** Null: this process signs nothing. */
  readonly signing: SigningKey | null;
  readonly trusted: readonly TrustedKey[];
  /** Notes that hand over from earlier keys, or revoke them. */
  readonly handovers: readonly string[];
  /** The file of the key, which can be read again at little cost; null: the key is in none. */
  readonly file: string | null;
}

export interface LogKeysConfig {
  /** File of the signing key; goes before `key`. */
  readonly keyFile: string | null;
  readonly key: Secret | null;
  /** Earlier keys, as text. */
  readonly publicKeys: readonly string[];
  /** Where a key is made when none is configured; null: none is made. */
  readonly madeIn: string | null;
}

const invalid = (message: string): HoldfastError => new HoldfastError('config_invalid', message);

/** Throws `secret_unreadable`, `config_invalid`. */
export async function openLogKeys({ keyFile, key, publicKeys, madeIn }: LogKeysConfig): Promise<LogKeys> {
  const made = keyFile === null && key === null && madeIn !== null ? join(madeIn, 'signing-key') : null;
  if (made !== null) makeLogKey(made, `holdfast/${randomBytes(8).toString('hex')}`);
  const path = keyFile ?? made ?? key?.path ?? null;
  const secret = path === null ? key : fileSecret(path);
  const signing = secret === null ? null : await readSigningKey(secret);
  const beside = path === null ? [] : readBeside(publicKeysOf(path));
  const texts = [...publicKeys, ...beside.map((one) => one.key)];
  const earlier = texts.map((text) => {
    const parsed = parsePublicKey(text);
    if (parsed === null) throw invalid(`${JSON.stringify(text)} is no public key of a log: expected name+id+base64.`);
    return parsed;
  });
  const handovers = beside.flatMap(({ handover, revocation }) => [handover ?? [], revocation ?? []].flat());
  const known = signing === null ? earlier : [signing.public, ...earlier];
  return { signing, trusted: trustedBy(known, handovers), handovers, file: path };
}

function readBeside(path: string): ReturnType<typeof readPublicKeys> {
  try {
    return readPublicKeys(path);
  } catch (error) {
    throw invalid(`The public keys of the log cannot be read from ${path}: ${whyOf(error)}.`);
  }
}

const whyOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

async function readSigningKey(secret: Secret): Promise<SigningKey> {
  const text = await secret.read().catch((error: unknown) => {
    throw new HoldfastError(
      'secret_unreadable',
      `The key of the log cannot be read from ${secret.place}: ${whyOf(error)}.`,
    );
  });
  // Before it is refused as well: it may be a key with a letter too few.
  knowSecret(text);
  const key = parseSigningKey(text);
  if (key !== null) return key;
  throw new HoldfastError('secret_unreadable', `What ${secret.place} holds is no signing key of a log.`, {
    hint: 'Make one with `holdfast signing-key make <file>`.',
  });
}

/** Makes a signing key in a file, with its public one beside it, if there is none. Gives the public one. */
export function makeLogKey(path: string, name: string): NoteKey {
  if (!isKeyName(name))
    throw invalid(`${JSON.stringify(name)} is no name of a log: expected 1 to 200 characters without space and plus.`);
  const key = parseSigningKey(readKeyFile(path) ?? makeKeyFile(path, signingKeyText(name, randomBytes(32))));
  if (key === null)
    throw new HoldfastError('secret_unreadable', `What the file ${path} holds is no signing key of a log.`);
  const beside = readBeside(publicKeysOf(path));
  if (!beside.some((one) => one.key === key.public.text))
    addPublicKey(publicKeysOf(path), { key: key.public.text, handover: null });
  return key.public;
}

/**
 * Puts a new key of the same name into the file, which signs from now on; what the old one has signed is believed up to `size`
 * entries. The new key is kept beside the old one until the note of the hand-over is written: after a crash the same call goes on
 * with it, so that the old key never hands over to two. Throws `config_invalid` where the old key has signed more entries.
 */
export async function rotateLogKey(path: string, size: number): Promise<NoteKey> {
  const old = keyIn(path);
  const signed = await readSignedRecord(signedRecordOf(path));
  if (signed !== null && signed.size > size)
    throw invalid(
      `The key in ${path} has signed ${signed.size} entries: a hand-over at ${size} would take back the last checkpoints.`,
    );
  const beside = `${path}.next`;
  const fresh = (): string => signingKeyText(old.public.name, randomBytes(32));
  if (parseSigningKey(readKeyFile(beside) ?? '')?.public.text === old.public.text) rmSync(beside);
  const text = readKeyFile(beside) ?? makeKeyFile(beside, fresh());
  const next = parseSigningKey(text);
  if (next === null) throw invalid(`What the file ${beside} holds is no signing key of a log: remove it.`);
  if (!readBeside(publicKeysOf(path)).some((one) => one.key === next.public.text && one.handover !== null))
    addPublicKey(publicKeysOf(path), { key: next.public.text, handover: signHandover(old, next, size) });
  replaceKeyFile(path, text);
  rmSync(beside, { force: true });
  return next.public;
}

/** Says, in the name of the key in the file, that an earlier one is believed only up to so many entries. Throws `config_invalid`. */
export function revokeLogKey(path: string, revoked: string, size: number): NoteKey {
  const by = keyIn(path);
  const earlier = readBeside(publicKeysOf(path));
  const key = parsePublicKey(revoked);
  if (key === null || key.text === by.public.text || !earlier.some((one) => one.key === key.text))
    throw invalid(
      `${JSON.stringify(revoked)} is no earlier key of ${path}: expected one of those in ${publicKeysOf(path)}, and not the one in use.`,
    );
  addPublicKey(publicKeysOf(path), { key: key.text, handover: null, revocation: signRevocation(key, size, by) });
  return key;
}

/** Throws `secret_unreadable`. */
function keyIn(path: string): SigningKey {
  const text = readKeyFile(path);
  const key = parseSigningKey(text ?? '');
  if (key !== null) return key;
  if (text === null) throw new HoldfastError('secret_unreadable', `There is no file ${path}.`);
  throw new HoldfastError('secret_unreadable', `What the file ${path} holds is no signing key of a log.`);
}
