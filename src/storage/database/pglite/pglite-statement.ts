/** What the virtual connections must know of a statement's text; the state of a transaction is told by the session itself. */

const words = (text: string): string =>
  text
    .replace(/^(\s|--[^\n]*\n|\/\*.*?\*\/)+/s, '')
    .slice(0, 200)
    .toUpperCase();

export const beginsTransaction = (text: string): boolean => /^(BEGIN|START\s+TRANSACTION)\b/.test(words(text));

/** True for the statements after which a transaction is over whatever they answer. */
export const endsTransaction = (text: string): boolean =>
  /^(COMMIT|END|ABORT|ROLLBACK(?!\s+(WORK\s+|TRANSACTION\s+)?TO\b))\b/.test(words(text)) &&
  !/\bAND\s+CHAIN\b/i.test(text);

export const beginsReadOnly = (text: string): boolean => beginsTransaction(text) && /\bREAD\s+ONLY\b/i.test(text);

export const onlyReads = (text: string): boolean =>
  /^(SELECT|SHOW)\b/.test(words(text)) && !/\bFOR\s+(NO\s+KEY\s+)?(UPDATE|SHARE|KEY\s+SHARE)\b/i.test(text);

export interface ListenCommand {
  readonly listen: boolean;
  /** Null: every channel (`UNLISTEN *`). */
  readonly channel: string | null;
}

/** A text that is one LISTEN or UNLISTEN, with the channel's name as the server folds it. */
export function listenCommand(text: string): ListenCommand | null {
  const match = /^\s*(UN)?LISTEN\s+(?:"((?:[^"]|"")+)"|([\w$]+)|(\*))\s*;?\s*$/i.exec(text);
  if (match === null) return null;
  const [, un, quoted, plain] = match;
  return { listen: un === undefined, channel: quoted?.replaceAll('""', '"') ?? plain?.toLowerCase() ?? null };
}
