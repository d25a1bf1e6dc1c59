/** Numbers by chance that are the same for the same seed. */
export interface Chances {
  /** From 0 to below 1. */
  readonly share: () => number;
  /** A whole number from 0 to below `most`. */
  readonly below: (most: number) => number;
  /** A number with this mean, as times between independent events have it. */
  readonly around: (mean: number) => number;
}

/** The generator "mulberry32". */
export function chances(seed: number): Chances {
  let state = seed >>> 0;
  const share = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  return { share, below: (most) => Math.floor(share() * most), around: (mean) => -mean * Math.log(1 - share()) };
}
