/** Finds lines in a file that a model has quoted from memory, with the tolerance that aider has: nothing depends on line numbers. */

/** How many lines may still be compared. What is hostile uses it up, and then nothing more is found. */
export interface Work {
  left: number;
}

export const WORK_OF_ANSWER = 20_000_000;

export interface Place {
  readonly at: number;
  /** How many lines of the file. */
  readonly length: number;
  /** Put before each line that is not blank; null: the lines stand as they were quoted. */
  readonly indent: string | null;
}

export type Located =
  | { readonly type: 'found'; readonly place: Place }
  | { readonly type: 'none' | 'many' | 'exhausted' };

export const isBlank = (line: string): boolean => line.trim() === '';

type Same = (file: string, part: string) => boolean;
const exact: Same = (file, part) => file === part;
const withoutEnds: Same = (file, part) => file.trimEnd() === part.trimEnd();

/** Where lines stand: as they are, then with other ends, then with another indentation. `unique`: a second such place is one too many. */
export function locate(file: readonly string[], part: readonly string[], unique: boolean, work: Work): Located {
  if (part.length === 0) return { type: 'none' };
  for (const same of [exact, withoutEnds]) {
    const found = placesOf(file, part.length, unique, work, (at) =>
      matches(file, at, part, same, work) ? { at, length: part.length, indent: null } : null,
    );
    if (found.type !== 'none') return found;
  }
  const bare = outdented(part, part);
  return placesOf(file, part.length, unique, work, (at) => {
    const indent = indentAt(file, at, bare, work);
    return indent === null ? null : { at, length: part.length, indent };
  });
}

function placesOf(
  file: readonly string[],
  length: number,
  unique: boolean,
  work: Work,
  placeAt: (at: number) => Place | null,
): Located {
  let first: Place | null = null;
  for (let at = 0; at + length <= file.length; at++) {
    if (work.left <= 0) return { type: 'exhausted' };
    const place = placeAt(at);
    if (place === null) continue;
    if (first !== null) return { type: 'many' };
    first = place;
    if (!unique) break;
  }
  return first === null ? { type: 'none' } : { type: 'found', place: first };
}

function matches(file: readonly string[], at: number, part: readonly string[], same: Same, work: Work): boolean {
  for (const [index, line] of part.entries()) {
    work.left--;
    if (work.left < 0 || !same(file[at + index] ?? '', line)) return false;
  }
  return true;
}

/** What stands before each line of the file that is not blank, where it is the same; null: the lines are others. */
function indentAt(file: readonly string[], at: number, part: readonly string[], work: Work): string | null {
  let indent: string | null = null;
  for (const [index, line] of part.entries()) {
    work.left--;
    if (work.left < 0) return null;
    const real = (file[at + index] ?? '').trimEnd();
    const wanted = line.trimEnd();
    if (wanted === '' || real === '') {
      if (wanted !== real) return null;
      continue;
    }
    if (!real.endsWith(wanted)) return null;
    const before = real.slice(0, real.length - wanted.length);
    if (before.trim() !== '' || (indent !== null && indent !== before)) return null;
    indent = before;
  }
  return indent;
}

/** Lines without the indentation that all of those beside them have. */
export function outdented(lines: readonly string[], beside: readonly string[]): string[] {
  const depths = beside.filter((line) => !isBlank(line)).map((line) => line.length - line.trimStart().length);
  const depth = depths.reduce((least, one) => Math.min(least, one), depths[0] ?? 0);
  return lines.map((line) => (isBlank(line) ? line : line.slice(depth)));
}

/** New lines as they belong at a place. */
export const placed = (lines: readonly string[], { indent }: Place, beside: readonly string[]): readonly string[] =>
  indent === null ? lines : outdented(lines, beside).map((line) => (isBlank(line) ? line : `${indent}${line}`));

/** Lines of a file that a block may have meant, for the error that says that it does not stand there. */

const AROUND = 5;
const LEAST = 0.6;
const MOST_LINES = 60;
const WORDS_OF_LINE = 200;
const LONGEST_WORD = 100;

/** The lines that have most words in common with those that were sought, with some around them; null: none are near. Linear in both. */
export function nearestLines(file: readonly string[], part: readonly string[]): readonly string[] | null {
  const size = Math.min(part.length, file.length);
  if (size === 0) return null;
  const wanted = new Map<string, number>();
  let sought = 0;
  for (const word of part.flatMap(wordsOf)) {
    wanted.set(word, (wanted.get(word) ?? 0) + 1);
    sought++;
  }
  if (sought === 0) return null;
  const inWindow = new Map<string, number>();
  const words = file.map(wordsOf);
  let [shared, held, best, bestAt] = [0, 0, 0, -1];
  for (const [end, line] of words.entries()) {
    for (const word of line) {
      held++;
      const count = (inWindow.get(word) ?? 0) + 1;
      inWindow.set(word, count);
      if (count <= (wanted.get(word) ?? 0)) shared++;
    }
    for (const word of words[end - size] ?? []) {
      held--;
      const count = inWindow.get(word) ?? 0;
      inWindow.set(word, count - 1);
      if (count <= (wanted.get(word) ?? 0)) shared--;
    }
    const near = (2 * shared) / (sought + held);
    if (end + 1 >= size && near > best) [best, bestAt] = [near, end + 1 - size];
  }
  if (best < LEAST) return null;
  return file.slice(Math.max(0, bestAt - AROUND), Math.min(bestAt + size + AROUND, bestAt + MOST_LINES));
}

/** Indentation is no word: a line that is nothing else than indented elsewhere is the same one. */
const wordsOf = (line: string): readonly string[] =>
  (line.slice(0, WORDS_OF_LINE * 20).match(/\w+|[^\w\s]/g) ?? [])
    .slice(0, WORDS_OF_LINE)
    .map((word) => word.slice(0, LONGEST_WORD));
