import { z } from 'zod';
import { usdText } from '../money.js';

/** A row of the access log: who asked for what, and how it was answered. */
export const accessView = z
  .object({
    id: z.string(),
    at: z.iso.datetime(),
    actor: z.string(),
    role: z.string().describe('That of the token, at that time.'),
    method: z.string(),
    route: z.string(),
    target: z.string().nullable().describe('The id in the address; null: there is none in it.'),
    status: z.int().describe('That was answered.'),
  })
  .meta({ id: 'Access' });
export type AccessView = z.infer<typeof accessView>;

/** Rows that an overview counts at most; the newest ones. */
export const OVERVIEW_MOST = 10_000;
/** Names that it lists. */
export const OVERVIEW_NAMES = 50;

const since = z.iso.datetime().nullable().describe('Since when the run waits that has waited the longest.');

export const queueOverview = z
  .object({
    queued: z.int(),
    running: z.int(),
    oldestAt: since,
    byAgent: z
      .array(
        z.object({
          name: z.string(),
          queued: z.int(),
          running: z.int(),
          oldestAt: since,
          atOnce: z.int().nullable().describe('How many of the agent may run at once, of all tenants. Null: no limit.'),
        }),
      )
      .describe('The 50 agents with the most in the queue.'),
    bySession: z
      .array(z.object({ name: z.string(), queued: z.int(), running: z.int(), oldestAt: since }))
      .describe('The 50 sessions with the most in the queue.'),
    tenantAtOnce: z.int().nullable().describe('How many runs of the tenant may run at once. Null: no limit.'),
    atLeast: z.boolean().describe('Whether counting stopped at 10,000.'),
  })
  .meta({ id: 'QueueOverview' });
export type QueueOverview = z.infer<typeof queueOverview>;

const errorGroup = z.object({
  code: z.string(),
  count: z.int(),
  firstAt: z.iso.datetime(),
  lastAt: z.iso.datetime(),
  runId: z.string().describe('The newest of them.'),
  message: z.string().describe('What the newest of them said; the first 300 characters.'),
  byAgent: z.array(z.object({ name: z.string(), count: z.int() })).describe('The 5 agents with the most.'),
});

export const errorGroups = z
  .object({
    items: z.array(errorGroup).describe('The 50 codes with the most, by what runs failed with.'),
    from: z.iso.datetime(),
    to: z.iso.datetime(),
    atLeast: z.boolean().describe('Whether counting stopped at 10,000.'),
  })
  .meta({ id: 'ErrorGroups' });
export type ErrorGroups = z.infer<typeof errorGroups>;

const budgetView = z.object({
  budget: z.string(),
  scope: z.enum(['agent', 'tenant', 'all']),
  name: z.string().describe("Of the agent or tenant; '' for all."),
  day: z.string().nullable().describe('The UTC day of a daily budget.'),
  limitUsd: usdText.describe('With what a person has added to it.'),
  spentUsd: usdText.describe('With what is reserved for calls under way.'),
});

export const budgetList = z
  .object({
    items: z
      .array(budgetView)
      .describe('Those of the configuration. Of all tenants: only for callers with a role in the installation.'),
  })
  .meta({ id: 'BudgetList' });
export type BudgetList = z.infer<typeof budgetList>;

/** What a series counts. Each names its keys. */
export const SERIES = {
  runs: 'runs by status, by the time when they were made',
  runs_by_agent: 'runs by agent',
  run_ms: 'milliseconds that runs worked: p50 and p95',
  usd: 'dollars by model',
  usd_by_agent: 'dollars by agent',
  tokens: 'tokens by model',
  decisions: 'what waited for people by how it ended, by the time when it was asked for',
  decide_ms: 'milliseconds until people decided: p50 and p95',
} as const;
export type SeriesName = keyof typeof SERIES;
export const SERIES_NAMES = Object.keys(SERIES) as [SeriesName, ...SeriesName[]];

/** Keys of a series that stand by themselves; the others are added up. */
export const SERIES_KEYS = 8;
export const SERIES_POINTS = 366;
/** Rows that a series reads; the newest ones. */
export const SERIES_ROWS = 100_000;

export const statsSeries = z
  .object({
    metric: z.enum(SERIES_NAMES),
    step: z.enum(['hour', 'day']),
    at: z.array(z.iso.datetime()).describe('When each point begins, in UTC.'),
    series: z.array(
      z.object({
        key: z.string(),
        points: z.array(z.number().nullable()).describe('Null: there is nothing to measure. Dollars are rounded.'),
        total: z.number().nullable().describe('The sum; null where a sum says nothing.'),
      }),
    ),
    others: z.int().describe('How many keys are added up as `others`.'),
    atLeast: z.boolean().describe('Whether reading stopped at 100,000 rows.'),
  })
  .meta({ id: 'StatsSeries' });
export type StatsSeries = z.infer<typeof statsSeries>;
