import {
  type NoteKey,
  openNote,
  parsePublicKey,
  type SignedNote,
  type SigningKey,
  signersOf,
  signNote,
} from './signed-note.js';

/**
 * A hand-over from one signing key of a log to the next: a note that both have signed. Its text is the origin, the words
 * `key hand-over`, the two public keys, the older first, and up to how many entries the older key signs. Notes of older builds lack
 * this number. A revocation says of a key that was stolen, or handed over without a number, up to how many entries it is believed.
 * A key that it led to signs it.
 */
const HANDOVER = 'key hand-over';
const REVOCATION = 'key revocation';
const SIZE = /^(0|[1-9]\d{0,15})$/;

export const signHandover = (from: SigningKey, to: SigningKey, size: number): string =>
  signNote(`${from.public.name}\n${HANDOVER}\n${from.public.text}\n${to.public.text}\n${size}\n`, from, to);

export const signRevocation = (revoked: NoteKey, size: number, by: SigningKey): string =>
  signNote(`${by.public.name}\n${REVOCATION}\n${revoked.text}\n${size}\n`, by);

/** A key that checkpoints are checked with. */
export interface TrustedKey extends NoteKey {
  /** A checkpoint of more entries is not believed; null: there is no such bound. */
  readonly until: number | null;
}

interface Handover {
  readonly from: NoteKey;
  readonly to: NoteKey;
  readonly until: number | null;
}

/** A hand-over that both keys have signed; null: the note is none. */
function handoverOf(note: string): Handover | null {
  const opened = openNote(note);
  const [origin, title, older = '', newer = '', ...rest] = opened?.text.split('\n') ?? [];
  if (opened === null || title !== HANDOVER || rest.length < 1 || rest.length > 2) return null;
  const [size = ''] = rest;
  if (rest.length === 2 && !SIZE.test(size)) return null;
  const [from, to] = [parsePublicKey(older), parsePublicKey(newer)];
  if (from === null || to === null || from.name !== origin || to.name !== origin) return null;
  if (signersOf(opened, [from, to]).length !== 2) return null;
  return { from, to, until: rest.length === 2 ? Number(size) : null };
}

interface Revocation {
  readonly revoked: string;
  readonly until: number;
  /** The name of the key that signs. */
  readonly origin: string;
  readonly note: SignedNote;
}

function revocationOf(note: string): Revocation | null {
  const opened = openNote(note);
  const [origin, title, revoked = '', size = '', ...rest] = opened?.text.split('\n') ?? [];
  if (opened === null || title !== REVOCATION || rest.length !== 1 || !SIZE.test(size)) return null;
  return { revoked, until: Number(size), origin: origin ?? '', note: opened };
}

/**
 * The keys that are trusted when some are, by what they have handed over to each other, and up to where. A key that handed over to
 * two others leads to neither, unless one of them is trusted for another reason: one of the two hand-overs is a thief's.
 */
export function trustedBy(keys: readonly NoteKey[], notes: readonly string[]): readonly TrustedKey[] {
  const handovers = notes.map(handoverOf).filter((one) => one !== null);
  const trusted = new Map(keys.map((key) => [key.text, key]));
  const isOnly = ({ from, to }: Handover): boolean =>
    handovers.every((one) => one.from.text !== from.text || one.to.text === to.text);
  for (let before = -1; before !== trusted.size; ) {
    before = trusted.size;
    for (const { from, to } of handovers) if (trusted.has(to.text)) trusted.set(from.text, from);
    if (trusted.size !== before) continue;
    for (const one of handovers) if (trusted.has(one.from.text) && isOnly(one)) trusted.set(one.to.text, one.to);
  }
  const believed = handovers.filter(({ from, to }) => trusted.has(from.text) && trusted.has(to.text));
  const bounds = believed.map(({ from, until }) => ({ key: from.text, until }));
  for (const { revoked, until, origin, note } of notes.map(revocationOf).filter((one) => one !== null)) {
    const after = [...ledToBy(revoked, believed)].flatMap((text) => trusted.get(text) ?? []);
    if (signersOf(note, after).some(({ name }) => name === origin)) bounds.push({ key: revoked, until });
  }
  return [...trusted.values()].map((key) => {
    const own = bounds.flatMap((bound) => (bound.key === key.text && bound.until !== null ? [bound.until] : []));
    return { ...key, until: own.length === 0 ? null : Math.min(...own) };
  });
}

/** The keys that a key handed over to, one after the other. */
function ledToBy(key: string, handovers: readonly Handover[]): ReadonlySet<string> {
  const after = new Set<string>();
  for (let before = -1; before !== after.size; ) {
    before = after.size;
    for (const { from, to } of handovers) if (from.text === key || after.has(from.text)) after.add(to.text);
  }
  after.delete(key);
  return after;
}
