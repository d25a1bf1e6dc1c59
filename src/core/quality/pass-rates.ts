import { z } from 'zod';
import { wilson } from '../tasks/pass-rate.js';
import { attemptFilter, taskGrouping } from './task-groups.js';

/** How often tasks are passed: pass@k with confidence intervals. */

export const RATED_TASKS_MOST = 10_000;
const KS_MOST = 10;

export const passQuery = z.strictObject({
  ...attemptFilter.shape,
  by: taskGrouping.exactOptional().describe('Rates each agent within each group. Unset: over all.'),
  k: z
    .string()
    .regex(/^[1-9]\d{0,3}(,[1-9]\d{0,3})*$/, 'expected whole numbers with commas, such as 1,5,10')
    .refine((text) => text.split(',').length <= KS_MOST, `are more than ${KS_MOST} numbers`)
    .default('1,5,10')
    .describe(`At most ${KS_MOST} numbers of attempts.`),
});
export type PassQuery = z.input<typeof passQuery>;

const passAt = z.object({
  k: z.int(),
  tasks: z.int().describe('Tasks with at least k attempts.'),
  value: z.number().nullable().describe('The mean over these tasks; null: there are none.'),
  low: z.number().nullable().describe('Where the interval of 95 % begins.'),
  high: z.number().nullable().describe('Where it ends.'),
});

export const passRates = z
  .object({
    items: z.array(
      z.object({
        agent: z.string(),
        group: z.string().nullable().describe('By what was asked for; null: nothing was.'),
        tasks: z.int().describe('Definitions that it attempted.'),
        attempts: z.int().describe('Attempts that ended with a result other than `error`.'),
        passed: z.int().describe('Those whose result is `success`.'),
        passAt: z.array(passAt),
      }),
    ),
    truncated: z.boolean().describe(`Whether there are more than ${RATED_TASKS_MOST} definitions with an agent.`),
  })
  .meta({ id: 'PassRates' });
export type PassRates = z.output<typeof passRates>;

/** Attempts of an agent at one definition. */
export interface Attempted {
  readonly agent: string;
  readonly group: string | null;
  readonly attempts: number;
  readonly passed: number;
}

/**
 * The unbiased estimate of the chance that at least one of `k` attempts passes, from `n` attempts and `c` passed ones among them:
 * 1 - C(n-c, k) / C(n, k), as a product, since binomials can exceed every number. Null: fewer than k attempts.
 */
export function passAtK(n: number, c: number, k: number): number | null {
  if (n < k) return null;
  if (n - c < k) return 1;
  let none = 1;
  for (let left = n - c + 1; left <= n; left++) none *= 1 - k / left;
  return 1 - none;
}

const few = (value: number): number => Number(value.toFixed(6));

/** The rates of each agent, within each group, by their names. */
export function ratesOf(rows: readonly Attempted[], ks: readonly number[]): PassRates['items'] {
  const rated = new Map<string, Attempted[]>();
  for (const row of rows) {
    const key = JSON.stringify([row.agent, row.group]);
    const own = rated.get(key) ?? [];
    own.push(row);
    rated.set(key, own);
  }
  return [...rated.values()].map((own) => ({
    ...{ agent: own[0]?.agent ?? '', group: own[0]?.group ?? null, tasks: own.length },
    attempts: own.reduce((sum, { attempts }) => sum + attempts, 0),
    passed: own.reduce((sum, { passed }) => sum + passed, 0),
    passAt: [...new Set(ks)].map((k) => {
      const values = own.flatMap(({ attempts, passed }) => passAtK(attempts, passed, k) ?? []);
      if (values.length === 0) return { k, tasks: 0, value: null, low: null, high: null };
      const value = values.reduce((sum, one) => sum + one, 0) / values.length;
      const { low, high } = wilson(value, values.length);
      return { k, tasks: values.length, value: few(value), low: few(low), high: few(high) };
    }),
  }));
}
