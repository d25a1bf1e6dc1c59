import type { FieldError } from './errors/errors.js';
import { pointerToken } from './json.js';

/** A name this long or longer is compared by its beginning. */
const COMPARED_MAX = 64;

/** How many letters must be changed, added, left out or swapped with their neighbour. */
function distance(from: string, to: string): number {
  let [before, last]: [number[], number[]] = [[], Array.from({ length: to.length + 1 }, (_, at) => at)];
  for (let row = 1; row <= from.length; row++) {
    const next = [row];
    for (let at = 1; at <= to.length; at++) {
      const same = from[row - 1] === to[at - 1] ? 0 : 1;
      const swapped = row > 1 && at > 1 && from[row - 1] === to[at - 2] && from[row - 2] === to[at - 1];
      const [left = 0, above = 0, across = 0, twice = 0] = [next[at - 1], last[at], last[at - 1], before[at - 2]];
      next.push(Math.min(left + 1, above + 1, across + same, swapped ? twice + 1 : Number.POSITIVE_INFINITY));
    }
    [before, last] = [last, next];
  }
  return last[to.length] ?? 0;
}

const plain = (name: string): string => name.replaceAll(/[_-]/g, '').toLowerCase().slice(0, COMPARED_MAX);

/** The known name that a wrong one was probably meant to be; null: none is near. */
export function nearestName(name: string, known: readonly string[]): string | null {
  const written = plain(name);
  const near = known
    .map((one) => ({ one, changes: distance(written, plain(one)), length: Math.max(written.length, one.length) }))
    .filter(({ changes, length }) => changes <= Math.max(1, Math.floor(length / 3)));
  return near.toSorted((a, b) => a.changes - b.changes)[0]?.one ?? null;
}

/** One entry for each name that is not known, which says the nearest one that is. */
export const unknownNames = (value: object, known: readonly string[]): readonly FieldError[] =>
  Object.keys(value)
    .filter((name) => !known.includes(name))
    .map((name) => ({ pointer: `/${pointerToken(name)}`, detail: unknownDetail(name, known) }));

/** The first name that is not known, and what is said of it; undefined: all are known. */
export function firstUnknownName(
  value: object,
  known: readonly string[],
): { readonly name: string; readonly detail: string } | undefined {
  const name = Object.keys(value).find((one) => !known.includes(one));
  return name === undefined ? undefined : { name, detail: unknownDetail(name, known) };
}

function unknownDetail(name: string, known: readonly string[]): string {
  const nearest = nearestName(name, known);
  return `is not known here${nearest === null ? '' : `; the nearest known name is ${nearest}`}`;
}
