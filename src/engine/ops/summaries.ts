import type { Knex } from 'knex';
import type { Stats, Summary } from '../../core/ops/stats.js';
import { RUN_STATUSES } from '../../core/runs/run.js';
import { sumSpend } from '../../storage/budgets/charges.js';
import { within } from '../../storage/database/timing.js';
import { countEvents } from '../../storage/log/read-events.js';
import { countRuns, sumTokens } from '../../storage/runs/run-list.js';
import { readSummary } from '../../storage/tasks/task-stats.js';
import { SharedQueries } from './shared-queries.js';

/** However often one asks, the database is queried no more often for each tenant. */
const EVERY_MS = 5000;
/** A query that takes longer is not waited for. */
const WITHIN_MS = 4000;

/** What became of the last tasks and runs of a tenant. Null: the database did not say in time. */
export const latestSummaries = (knex: Knex): SharedQueries<Summary | null> =>
  new SharedQueries({
    query: async (tenant) => {
      const found: Summary[] = [];
      const read = readSummary(knex, tenant);
      await within(
        WITHIN_MS,
        read.then((summary) => void found.push(summary)),
      ).catch(() => undefined);
      return found[0] ?? null;
    },
    keptMs: () => EVERY_MS,
  });

export type Totals = Pick<Stats, 'runs' | 'events' | 'totalTokens' | 'costUsd' | 'unpriced' | 'at'>;

/** A query that takes less is made for each who asks. */
const SHORT_MS = 100;
/** Queries take no more than this share of the time of one connection. */
const SHARE = 0.05;
const KEPT_MOST_MS = 60_000;

export const totalsKeptMs = (tookMs: number): number =>
  tookMs < SHORT_MS ? 0 : Math.min(KEPT_MOST_MS, tookMs / SHARE);

/** What all runs of a tenant come to. The query grows with all that there is. */
export const runTotals = (knex: Knex): SharedQueries<Totals> =>
  new SharedQueries({ query: (tenant) => readTotals(knex, tenant), keptMs: totalsKeptMs });

async function readTotals(knex: Knex, tenant: string): Promise<Totals> {
  const at = new Date().toISOString();
  const counts = await countRuns(knex, tenant);
  const runs = Object.fromEntries(RUN_STATUSES.map((status) => [status, counts[status] ?? 0])) as Totals['runs'];
  const events = await countEvents(knex, tenant);
  return { at, runs, events, totalTokens: await sumTokens(knex, tenant), ...(await sumSpend(knex, tenant)) };
}
