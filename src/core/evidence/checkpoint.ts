import { z } from 'zod';
import { type NoteKey, openNote, type SigningKey, signersOf, signNote } from './signed-note.js';

/**
 * A checkpoint of the log (C2SP tlog-checkpoint, https://c2sp.org/tlog-checkpoint): how many entries it has, and the root of the
 * tree over them, as a signed note. The first line, the origin, is the name of the key.
 */
interface Checkpoint {
  readonly origin: string;
  readonly size: number;
  /** 64 hex digits. */
  readonly root: string;
}

/** One whose signature was checked. */
export interface SignedCheckpoint extends Checkpoint {
  readonly note: string;
  readonly signedBy: NoteKey;
}

export function signCheckpoint(size: number, root: string, key: SigningKey): SignedCheckpoint {
  const origin = key.public.name;
  const text = `${origin}\n${size}\n${Buffer.from(root, 'hex').toString('base64')}\n`;
  return { origin, size, root, note: signNote(text, key), signedBy: key.public };
}

function parseText(text: string): Checkpoint | null {
  const [origin = '', size = '', base64 = '', ...rest] = text.split('\n');
  if (origin === '' || rest.length === 0 || !/^(0|[1-9]\d{0,15})$/.test(size)) return null;
  const root = Buffer.from(base64, 'base64');
  if (root.length !== 32 || root.toString('base64') !== base64) return null;
  return { origin, size: Number(size), root: root.toString('hex') };
}

/** What is wrong with a note, or the checkpoint that one of the keys has signed. `until`: what a key signed beyond it is not believed. */
export function openCheckpoint(
  note: string,
  keys: readonly (NoteKey & { readonly until?: number | null })[],
): SignedCheckpoint | string {
  const opened = openNote(note);
  if (opened === null) return 'it is no signed note';
  const read = parseText(opened.text);
  if (read === null) return 'its text is no checkpoint';
  const signers = signersOf(opened, keys);
  const believed = keys.filter(({ until = null }) => until === null || read.size <= until);
  const signedBy = signers.find(({ text }) => believed.some((key) => key.text === text));
  if (signedBy === undefined && signers.length > 0)
    return `it has ${read.size} entries, and its key is believed only up to fewer: it handed over to another, or was revoked`;
  if (signedBy === undefined) return 'no key that is trusted here has signed it';
  if (signedBy.name !== read.origin) return 'it is of another log';
  return { ...read, note, signedBy };
}

/** A checkpoint as it is written outside the database: a signed note, and when it was written. */
const checkpointLine = z.object({ at: z.string(), note: z.string() });
export type CheckpointLine = z.infer<typeof checkpointLine>;

/** Null: it is none. */
export function checkpointLineOf(text: string): CheckpointLine | null {
  try {
    return checkpointLine.parse(JSON.parse(text));
  } catch {
    return null;
  }
}
