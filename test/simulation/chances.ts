import { seededRandom } from '../../src/core/seeded-random.js';

/** Numbers by chance that are the same for the same seed. */
export interface Chances {
  /** From 0 to below 1. */
  readonly share: () => number;
  /** A whole number from 0 to below `most`. */
  readonly below: (most: number) => number;
  /** A number with this mean, as times between independent events have it. */
  readonly around: (mean: number) => number;
}

export function chances(seed: number): Chances {
  const share = seededRandom(String(seed));
  return {
    share,
    below: (most) => Math.floor(share() * most),
    around: (mean) => -mean * Math.log(1 - share()),
  };
}
