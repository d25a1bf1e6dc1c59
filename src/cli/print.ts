import { HoldfastError } from '../core/errors.js';

const NARROWEST = 60;
const PIPE_WIDTH = 160;

/** Columns that a line may take. */
export const width = (): number => Math.max(NARROWEST, process.stdout.isTTY ? process.stdout.columns : PIPE_WIDTH);

/** What others wrote may hold control sequences of terminals, which are shown and not obeyed. */
export const plain = (text: string): string =>
  text.replaceAll(/\p{Cc}|\p{Cf}/gu, (char) =>
    char === '\n' ? ' ' : `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );

export const cut = (text: string, columns: number): string =>
  text.length <= columns ? text : `${text.slice(0, Math.max(0, columns - 1))}…`;

export const print = (line: string): void => void process.stdout.write(`${line}\n`);
export const printJson = (value: unknown): void => print(JSON.stringify(value, null, 2));

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

/** An error as two lines: what happened and its code, then the way out. */
export function printError(error: unknown): void {
  const known = error instanceof HoldfastError ? error : unexpected(error);
  process.stderr.write(`holdfast: ${plain(known.message)} (${known.code})\n  ${plain(known.hint)}\n`);
}

function unexpected(error: unknown): HoldfastError {
  const message = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
  return new HoldfastError('internal', message, {
    cause: error,
    hint: 'Try again; if it stays, report it with what you did.',
  });
}
