import { RUN_STATUSES, type RunStatus } from '../core/run.js';
import type { Stats } from '../core/stats.js';
import { countPending } from '../storage/interruptions.js';
import { countEvents } from '../storage/read-events.js';
import { countRuns, sumTokens } from '../storage/run-list.js';
import { sumSpend } from '../storage/spend.js';
import type { Parts } from './parts.js';

export async function stats(parts: Parts, tenant: string): Promise<Stats> {
  const { knex } = parts.world;
  const counts = await countRuns(knex, tenant);
  const runs = Object.fromEntries(RUN_STATUSES.map((status) => [status, counts[status] ?? 0])) as Record<
    RunStatus,
    number
  >;
  const summary = await parts.summaries.of(tenant);
  return {
    runs,
    pendingInterruptions: await countPending(knex, tenant),
    events: await countEvents(knex, tenant),
    totalTokens: await sumTokens(knex, tenant),
    ...(await sumSpend(knex, tenant)),
    tasks: summary?.tasks ?? null,
    throughput: summary?.throughput ?? null,
  };
}
