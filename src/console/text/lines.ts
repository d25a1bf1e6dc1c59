/** Which lines of a text went and which came. */

export interface Line {
  readonly kind: 'same' | 'gone' | 'new';
  readonly text: string;
}

/** So many lines of both texts are compared one with the other; of more, all that differ count as replaced. */
const COMPARED_MOST = 250_000;
const KEPT_AROUND = 3;

/** The lines of `from` and `to` in their order: those that both have once. */
export function lineDifference(from: string, to: string): readonly Line[] {
  const [before, after] = [from.split('\n'), to.split('\n')];
  let head = 0;
  while (head < before.length && head < after.length && before[head] === after[head]) head++;
  let tail = 0;
  const most = Math.min(before.length, after.length) - head;
  while (tail < most && before[before.length - 1 - tail] === after[after.length - 1 - tail]) tail++;
  const same = (text: string): Line => ({ kind: 'same', text });
  return [
    ...before.slice(0, head).map(same),
    ...middle(before.slice(head, before.length - tail), after.slice(head, after.length - tail)),
    ...before.slice(before.length - tail).map(same),
  ];
}

/** By the longest common subsequence. */
function middle(before: readonly string[], after: readonly string[]): readonly Line[] {
  const gone = (text = ''): Line => ({ kind: 'gone', text });
  const come = (text = ''): Line => ({ kind: 'new', text });
  if (before.length * after.length > COMPARED_MOST)
    return [...before.map((text) => gone(text)), ...after.map((text) => come(text))];
  const width = after.length + 1;
  const longest = new Uint32Array((before.length + 1) * width);
  const at = (i: number, j: number): number => longest[i * width + j] ?? 0;
  for (let i = before.length - 1; i >= 0; i--)
    for (let j = after.length - 1; j >= 0; j--)
      longest[i * width + j] = before[i] === after[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1));
  const lines: Line[] = [];
  let [i, j] = [0, 0];
  while (i < before.length || j < after.length) {
    if (i < before.length && j < after.length && before[i] === after[j]) {
      lines.push({ kind: 'same', text: before[i] ?? '' });
      i++;
      j++;
    } else if (j >= after.length || (i < before.length && at(i + 1, j) >= at(i, j + 1))) lines.push(gone(before[i++]));
    else lines.push(come(after[j++]));
  }
  return lines;
}

/** Those that changed with some around them; a number is how many lines in a row are left out. */
export function folded(lines: readonly Line[]): readonly (Line | number)[] {
  const shown = lines.map((_line, at) =>
    lines.slice(Math.max(0, at - KEPT_AROUND), at + KEPT_AROUND + 1).some(({ kind }) => kind !== 'same'),
  );
  const pieces: (Line | number)[] = [];
  lines.forEach((line, at) => {
    const last = pieces.at(-1);
    if (shown[at] === true) pieces.push(line);
    else if (typeof last === 'number') pieces[pieces.length - 1] = last + 1;
    else pieces.push(1);
  });
  return pieces;
}
