import { type NoteKey, openNote, parsePublicKey, type SigningKey, signersOf, signNote } from './signed-note.js';

/**
 * A hand-over from one signing key of a log to the next: a note that both have signed. Who trusts one of them can trust the other.
 * Its text is the origin, the words `key hand-over`, and the two public keys, the older first.
 */
const TITLE = 'key hand-over';

export const signHandover = (from: SigningKey, to: SigningKey): string =>
  signNote(`${from.public.name}\n${TITLE}\n${from.public.text}\n${to.public.text}\n`, from, to);

/** The two keys of a hand-over that both have signed; null: the note is none. */
function openHandover(note: string): readonly [NoteKey, NoteKey] | null {
  const opened = openNote(note);
  const [origin, title, older = '', newer = '', ...rest] = opened?.text.split('\n') ?? [];
  if (opened === null || title !== TITLE || rest.length !== 1) return null;
  const [from, to] = [parsePublicKey(older), parsePublicKey(newer)];
  if (from === null || to === null || from.name !== origin || to.name !== origin) return null;
  return signersOf(opened, [from, to]).length === 2 ? [from, to] : null;
}

/** The keys that are trusted when some are, by what they have handed over to each other. */
export function trustedBy(keys: readonly NoteKey[], handovers: readonly string[]): readonly NoteKey[] {
  const trusted = new Map(keys.map((key) => [key.text, key]));
  const pairs = handovers.map(openHandover).filter((pair) => pair !== null);
  for (let before = -1; before !== trusted.size; ) {
    before = trusted.size;
    for (const pair of pairs)
      if (pair.some(({ text }) => trusted.has(text))) for (const key of pair) trusted.set(key.text, key);
  }
  return [...trusted.values()];
}
