import { canonical, sha256 } from '../json.js';

/**
 * A large set as a small one: its least hashes. Two sketches tell how much the whole sets have in common (bottom-k: Broder, 1997).
 * In ascending order.
 */
export type Sketch = readonly number[];

const KEPT = 64;

/** The first 48 bits of a SHA-256: a whole number that JSON carries. */
export const hashOf = (feature: readonly string[]): number =>
  Number.parseInt(sha256(canonical(feature)).slice(7, 19), 16);

/** Takes a hash into a sketch. */
export function keepLeast(least: number[], hash: number): void {
  if (least.length === KEPT && hash >= (least[KEPT - 1] ?? 0)) return;
  const at = least.findIndex((one) => one >= hash);
  if (at >= 0 && least[at] === hash) return;
  if (at >= 0) least.splice(at, 0, hash);
  else least.push(hash);
  if (least.length > KEPT) least.pop();
}

/** The estimated Jaccard similarity of two sets, from 0 to 1; exact where both are small. Two empty ones are the same. */
export function likeness(a: Sketch, b: Sketch): number {
  const { union, both } = merged(a, b, KEPT);
  return union === 0 ? 1 : both / union;
}

/** Whether the similarity is at least so much. Of sets that differ it looks at few hashes. */
export function isLike(a: Sketch, b: Sketch, least: number): boolean {
  const { union, both, differ } = merged(a, b, (1 - least) * KEPT);
  return union > 0 && differ <= (1 - least) * KEPT && both / union >= least;
}

/** The least hashes of both sets, in their order, until so many are in one of them alone. */
function merged(a: Sketch, b: Sketch, differMost: number) {
  let [atA, atB, union, both] = [0, 0, 0, 0];
  for (; union < KEPT && (atA < a.length || atB < b.length) && union - both <= differMost; union++) {
    const [one, other] = [a[atA] ?? Number.POSITIVE_INFINITY, b[atB] ?? Number.POSITIVE_INFINITY];
    if (one === other) both++;
    if (one <= other) atA++;
    if (other <= one) atB++;
  }
  return { union, both, differ: union - both };
}
