import { canonical, sha256 } from '../json.js';

/**
 * What a run did, as a small set: the least hashes of all runs of 1 to 3 tools that followed each other, and of 1 and 2 calls
 * with their arguments. Two sketches tell how much the whole sets have in common (bottom-k: Broder, 1997).
 */
export type Sketch = readonly number[];

const KEPT = 64;
const BEGIN = ['begin'];
const END = ['end'];

/** The first 48 bits of a SHA-256: a whole number that JSON carries. */
const hashOf = (feature: readonly string[]): number => Number.parseInt(sha256(canonical(feature)).slice(7, 19), 16);

function keepLeast(least: number[], hash: number): void {
  const at = least.findIndex((one) => one >= hash);
  if (at >= 0 && least[at] === hash) return;
  if (at >= 0) least.splice(at, 0, hash);
  else if (least.length < KEPT) least.push(hash);
  if (least.length > KEPT) least.pop();
}

/** Takes calls in their order; holds the last two and the sketch. */
export function sketching(): {
  readonly add: (tool: string, argumentsDigest: string) => void;
  readonly sketch: () => Sketch;
} {
  const least: number[] = [];
  let tools: readonly (readonly string[])[] = [BEGIN];
  let calls: readonly (readonly string[])[] = [BEGIN];
  const keep = (into: number[], kind: string, past: readonly (readonly string[])[], shortest: number): void => {
    for (let n = shortest; n <= past.length; n++) keepLeast(into, hashOf([kind, ...past.slice(-n).flat()]));
  };
  return {
    add: (tool, digest) => {
      tools = [...tools, ['tool', tool]].slice(-3);
      calls = [...calls, ['call', tool, digest]].slice(-2);
      keep(least, 'tools', tools, 1);
      keep(least, 'calls', calls, 1);
    },
    sketch: () => {
      const whole = [...least];
      keep(whole, 'tools', [...tools, END].slice(-3), 2);
      return whole;
    },
  };
}

/** The estimated Jaccard similarity of what two runs did, from 0 to 1; exact where both are small. */
export function likeness(a: Sketch, b: Sketch): number {
  const [inA, inB] = [new Set(a), new Set(b)];
  const union = [...new Set([...a, ...b])].sort((x, y) => x - y).slice(0, KEPT);
  return union.length === 0 ? 1 : union.filter((hash) => inA.has(hash) && inB.has(hash)).length / union.length;
}
