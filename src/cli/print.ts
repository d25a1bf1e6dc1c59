import { HoldfastError } from '../core/errors/errors.js';
import { withoutKnownSecrets, withoutSecrets } from '../models/secrets/known-secrets.js';
import { namedTrouble } from '../storage/database/database-trouble.js';

const NARROWEST = 60;
const PIPE_WIDTH = 160;

/** Columns that a line may take. */
export const width = (): number => Math.max(NARROWEST, process.stdout.isTTY ? process.stdout.columns : PIPE_WIDTH);

/** Control and format characters, the line ends that are no `\n`, and halves of characters. */
const UNPRINTED = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu;

const unitsOf = (char: string): string =>
  Array.from({ length: char.length }, (_, at) => `\\u${char.charCodeAt(at).toString(16).padStart(4, '0')}`).join('');

/** What others wrote may hold control sequences of terminals, which are shown and not obeyed. */
export const plain = (text: string): string =>
  text.replaceAll(UNPRINTED, (char) => (char === '\n' ? ' ' : unitsOf(char)));

/** The same for a text of several lines. */
export const plainLines = (text: string): string => text.split('\n').map(plain).join('\n');

/** JSON in which such characters are written as JSON escapes them. Undefined: on one line. */
export const jsonText = (value: unknown, indent?: number): string => {
  const text = JSON.stringify(value, null, indent);
  return text.replaceAll(UNPRINTED, (char) => (char === '\n' ? char : unitsOf(char)));
};

/** At most so many columns. No character is cut in half. */
export const cut = (text: string, columns: number): string => {
  if (text.length <= columns) return text;
  const kept = text.slice(0, Math.max(0, columns - 1));
  return `${/[\ud800-\udbff]$/.test(kept) ? kept.slice(0, -1) : kept}…`;
};

/** A measured number with four digits; nothing where it is not known. */
export const few = (value: number | null): string => (value === null ? '' : Number(value.toPrecision(4)).toString());

export const print = (line: string): void => printAsIs(withoutKnownSecrets(line));
export const printJson = (value: unknown): void => printAsIs(jsonText(withoutSecrets(value), 2));
/** A piece of a line that grows. */
export const printPiece = (text: string): void => void process.stdout.write(withoutKnownSecrets(text));
/** For the token that a server made: the one that starts it is to read it. */
export const printAsIs = (line: string): void => void process.stdout.write(`${line}\n`);

/** Rows under a heading, each column as wide as its widest cell; the last one is cut to the width of the terminal. */
export function printTable(heading: readonly string[], rows: readonly (readonly string[])[]): void {
  const all = [heading, ...rows].map((row) => row.map(plain));
  const widths = heading.map((_, column) => Math.max(...all.map((row) => row[column]?.length ?? 0)));
  for (const row of all)
    print(
      cut(
        row
          .map((cell, column) => cell.padEnd(widths[column] ?? 0))
          .join('  ')
          .trimEnd(),
        width(),
      ),
    );
}

/** What is said beside the answer, on stderr. */
export const printNote = (text: string): void => void process.stderr.write(`holdfast: ${shown(text)}\n`);

/** An error as two lines: what happened and its code, then the way out. */
export function printError(error: unknown): void {
  const known =
    error instanceof HoldfastError ? error : (namedTrouble(error) ?? fileTrouble(error) ?? unexpected(error));
  process.stderr.write(`holdfast: ${shown(known.message)} (${known.code})\n  ${shown(known.hint)}\n`);
}

const shown = (text: string): string => plain(withoutKnownSecrets(text));

/** What the file system refuses, such as a folder in the place of a file; null: it is something else. */
function fileTrouble(error: unknown): HoldfastError | null {
  if (!(error instanceof Error) || !('code' in error) || !('syscall' in error) || 'address' in error) return null;
  const path = 'path' in error ? String(error.path) : 'A file that was named';
  return new HoldfastError('invalid_request', `${path} cannot be used (${error.code}, ${error.syscall}).`, {
    cause: error,
    hint: 'Look what is there, and whether this user may read and write it.',
  });
}

function unexpected(error: unknown): HoldfastError {
  const message = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
  return new HoldfastError('internal', message, {
    cause: error,
    hint: 'Try again; if it stays, report it with what you did.',
  });
}
