import type { Stats } from '../../core/ops/stats.js';
import { RUN_STATUSES, type RunStatus } from '../../core/runs/run.js';
import { sumSpend } from '../../storage/budgets/charges.js';
import { countPending } from '../../storage/interruptions/interruptions.js';
import { countEvents } from '../../storage/log/read-events.js';
import { countRuns, sumTokens } from '../../storage/runs/run-list.js';
import type { EngineContext } from '../engine-context.js';

export async function stats(context: EngineContext, tenant: string): Promise<Stats> {
  const { knex } = context.stepContext;
  const counts = await countRuns(knex, tenant);
  const runs = Object.fromEntries(RUN_STATUSES.map((status) => [status, counts[status] ?? 0])) as Record<
    RunStatus,
    number
  >;
  const summary = await context.summaries.of(tenant);
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
