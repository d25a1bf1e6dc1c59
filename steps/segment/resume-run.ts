import type { Knex } from 'knex';
import { lockRuns, queueDecided } from '../../src/storage/runs/decided-runs.js';
import type { RunRow } from '../../src/storage/runs/run-row.js';
import type { StepContext } from '../context.js';

/** Locks runs and resumes those of them that wait for nothing undecided. */
export async function resumeDecided(ctx: StepContext, trx: Knex.Transaction, runIds: readonly string[]): Promise<void> {
  if (runIds.length > 0) await resumeLocked(ctx, trx, await lockRuns(trx, runIds));
}

/**
 * The one place that decides whether a paused run goes on; always under the locks of the runs' rows. `settled` is the interruption
 * that this transaction settles beside it.
 */
export async function resumeLocked(
  ctx: StepContext,
  trx: Knex.Transaction,
  runs: readonly RunRow[],
  settled: string | null = null,
): Promise<void> {
  const paused = runs.filter(({ status }) => status === 'paused');
  if (paused.length === 0) return;
  const queued = await queueDecided(
    trx,
    paused.map(({ id }) => id),
    settled,
  );
  const resumed = paused.filter(({ id }) => queued.has(id));
  await ctx.queue.enqueue(
    trx,
    resumed.map((run) => ({ run, segment: run.segment, band: 'resumed' })),
  );
}
