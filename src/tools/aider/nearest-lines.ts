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
