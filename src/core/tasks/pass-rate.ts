import { z } from 'zod';

/** Of a normal distribution, for 95 %. */
const Z = 1.959963984540054;

/**
 * Wilson's score interval of a mean of `n` shares, which holds for few, too:
 * https://en.wikipedia.org/wiki/Binomial_proportion_confidence_interval#Wilson_score_interval. Shares between 0 and 1 vary at most as passes and failures with the same mean
 * do, so that it is never too narrow for them.
 */
export function wilson(mean: number, n: number): { readonly low: number; readonly high: number } {
  const zz = (Z * Z) / n;
  const centre = (mean + zz / 2) / (1 + zz);
  const half = (Z / (1 + zz)) * Math.sqrt((mean * (1 - mean)) / n + zz / (4 * n));
  return { low: Math.max(0, centre - half), high: Math.min(1, centre + half) };
}

const share = z.number().min(0).max(1);

export const passRate = z
  .object({ value: share, low: share, high: share })
  .nullable()
  .describe(
    'Of the tasks that completed or failed, how many passed their verification, with the ends of its 95 % interval. Null: none has ended.',
  );
export type PassRate = z.infer<typeof passRate>;

export function passRateOf(passed: number, ended: number): PassRate {
  if (ended === 0) return null;
  const value = passed / ended;
  return { value, ...wilson(value, ended) };
}
