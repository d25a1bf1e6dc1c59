import { z } from 'zod';
import { wilson } from '../tasks/pass-rate.js';

/** Whether two samples differ by more than chance: docs/tasks/quality.md has the formulas. */

/** An adjusted p below it is told as drift. */
const ALPHA = 0.05;

export const comparison = z
  .object({
    measure: z.string(),
    before: z.number(),
    after: z.number(),
    difference: z.number().describe('after - before'),
    low: z.number().describe('Where the interval of 95 % of the difference begins.'),
    high: z.number().describe('Where it ends.'),
    statistic: z.number().nullable().describe("Welch's t, or z of two proportions. Null: neither sample varies."),
    p: z.number().min(0).max(1).describe('The chance of such a difference, or a greater one, if there is none.'),
    adjustedP: z.number().min(0).max(1).describe("The same by Holm's method, since several measures are tested."),
    drifted: z.boolean().describe(`adjustedP < ${ALPHA}`),
  })
  .meta({ id: 'Comparison' });
export type Comparison = z.infer<typeof comparison>;

export interface Sample {
  readonly n: number;
  readonly mean: number;
  /** With n - 1 below the line. */
  readonly variance: number;
}

type Tested = Omit<Comparison, 'measure' | 'adjustedP' | 'drifted'>;

const LANCZOS = [
  ...[76.18009172947146, -86.50532032941678, 24.01409824083091],
  ...[-1.231739572450155, 0.001208650973866179, -0.000005395239384953],
];

/** The logarithm of the gamma function, by Lanczos' approximation. */
function logGamma(x: number): number {
  const base = x + 5.5 - (x + 0.5) * Math.log(x + 5.5);
  const series = LANCZOS.reduce((sum, one, at) => sum + one / (x + at + 1), 1.000000000190015);
  return -base + Math.log((2.5066282746310007 * series) / x);
}

const TINY = 1e-300;
const ROUNDS = 300;
const kept = (value: number): number => (Math.abs(value) < TINY ? TINY : value);

/** The continued fraction of the incomplete beta function, by Lentz' method. */
function betaFraction(x: number, a: number, b: number): number {
  let c = 1;
  let d = 1 / kept(1 - ((a + b) * x) / (a + 1));
  let value = d;
  for (let m = 1; m <= ROUNDS; m++) {
    const even = (m * (b - m) * x) / ((a + 2 * m - 1) * (a + 2 * m));
    d = 1 / kept(1 + even * d);
    c = kept(1 + even / c);
    value *= d * c;
    const odd = (-(a + m) * (a + b + m) * x) / ((a + 2 * m) * (a + 2 * m + 1));
    d = 1 / kept(1 + odd * d);
    c = kept(1 + odd / c);
    value *= d * c;
    if (Math.abs(d * c - 1) < 1e-12) break;
  }
  return value;
}

/** The regularised incomplete beta function. */
function incompleteBeta(x: number, a: number, b: number): number {
  if (x <= 0 || x >= 1) return x <= 0 ? 0 : 1;
  const front = Math.exp(logGamma(a + b) - logGamma(a) - logGamma(b) + a * Math.log(x) + b * Math.log(1 - x));
  return x < (a + 1) / (a + b + 2) ? (front * betaFraction(x, a, b)) / a : 1 - (front * betaFraction(1 - x, b, a)) / b;
}

/** The chance that Student's t of so many degrees of freedom is at least so far from 0, on either side. */
export const studentTails = (t: number, freedom: number): number =>
  incompleteBeta(freedom / (freedom + t * t), freedom / 2, 0.5);

/** Beyond this many degrees of freedom Student's t is as good as normal. */
const NORMAL = 1e7;
const normalTails = (z: number): number => studentTails(z, NORMAL);

/** How far from 0 Student's t is with a chance of 5 %. */
function studentBound(freedom: number): number {
  let [low, high] = [0, 1e6];
  for (let round = 0; round < 100; round++) {
    const middle = (low + high) / 2;
    if (studentTails(middle, freedom) > ALPHA) low = middle;
    else high = middle;
  }
  return high;
}

/** What sums of equal numbers can differ by, as a share. */
const ROUNDING = 1e-12;

/** Welch's t-test, with the degrees of freedom of Welch and Satterthwaite. */
export function welch(before: Sample, after: Sample): Tested {
  const difference = after.mean - before.mean;
  const [a, b] = [before.variance / before.n, after.variance / after.n];
  const error = Math.sqrt(a + b);
  const told = { before: before.mean, after: after.mean, difference };
  const noise = ROUNDING * Math.max(Math.abs(before.mean), Math.abs(after.mean));
  // Samples that do not vary are either the same or surely are not.
  if (error <= noise)
    return { ...told, low: difference, high: difference, statistic: null, p: Math.abs(difference) <= noise ? 1 : 0 };
  const freedom = (a + b) ** 2 / (a ** 2 / (before.n - 1) + b ** 2 / (after.n - 1));
  const statistic = difference / error;
  const half = studentBound(freedom) * error;
  return { ...told, low: difference - half, high: difference + half, statistic, p: studentTails(statistic, freedom) };
}

interface Share {
  readonly n: number;
  readonly passed: number;
}

/** The z-test of two proportions with a pooled variance; the interval is Newcombe's, of two intervals of Wilson. */
export function compareShares(before: Share, after: Share): Tested {
  const [p, q] = [before.passed / before.n, after.passed / after.n];
  const [one, other] = [wilson(p, before.n), wilson(q, after.n)];
  const difference = q - p;
  const pooled = (before.passed + after.passed) / (before.n + after.n);
  const error = Math.sqrt(pooled * (1 - pooled) * (1 / before.n + 1 / after.n));
  const statistic = error === 0 ? null : difference / error;
  return {
    ...{ before: p, after: q, difference },
    low: difference - Math.hypot(q - other.low, one.high - p),
    high: difference + Math.hypot(other.high - q, p - one.low),
    ...{ statistic, p: statistic === null ? 1 : normalTails(statistic) },
  };
}

/** Tests of several measures together, adjusted by Holm's method, in the order that they are given in. */
export function holm(tests: readonly (Tested & { readonly measure: string })[]): readonly Comparison[] {
  const order = tests.map((_, at) => at).sort((x, y) => (tests[x]?.p ?? 1) - (tests[y]?.p ?? 1));
  const adjusted = new Map<number, number>();
  let least = 0;
  for (const [rank, at] of order.entries()) {
    least = Math.max(least, Math.min(1, (tests.length - rank) * (tests[at]?.p ?? 1)));
    adjusted.set(at, least);
  }
  return tests.map((test, at) => {
    const adjustedP = adjusted.get(at) ?? 1;
    return { ...test, adjustedP, drifted: adjustedP < ALPHA };
  });
}
