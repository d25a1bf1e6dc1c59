import type { Knex } from 'knex';
import type { InterruptionRow } from '../../src/storage/interruptions/interruption-rows.js';
import type { RunRow } from '../../src/storage/runs/run-row.js';
import { lockRuns, queueDecided } from '../../src/storage/runs/runs-to-resume.js';
import type { StepContext } from '../context.js';
import { withDatabaseRetry } from '../database-retry.js';
import { type InterruptionSettlement, type SettledRow, type Settlement, settle, settleEach } from './settle.js';

/** The settlements of one transaction. */
export class SettlementBatch {
  readonly trx: Knex.Transaction;
  /** The runs that the transaction changed: they are announced after the commit. */
  readonly runIds = new Set<string>();
  readonly #ctx: StepContext;

  constructor(ctx: StepContext, trx: Knex.Transaction) {
    this.#ctx = ctx;
    this.trx = trx;
  }

  /** Settles one interruption of a locked run, and resumes the run if nothing undecided is left. */
  async settle(run: RunRow, row: InterruptionRow, settlement: Settlement): Promise<SettledRow> {
    this.runIds.add(run.id);
    const [settled] = await Promise.all([
      settle(this.#ctx, this.trx, row, settlement),
      resumeLocked(this.#ctx, this.trx, [run], row.id),
    ]);
    return settled;
  }

  /** Settles interruptions and resumes those of the runs that have nothing undecided left. The runs are locked. */
  async settleEach(settlements: readonly InterruptionSettlement[], runIds: readonly string[]): Promise<void> {
    for (const id of runIds) this.runIds.add(id);
    await settleEach(this.#ctx, this.trx, settlements);
    await resumeDecided(this.#ctx, this.trx, [...new Set(runIds)]);
  }
}

/**
 * Settles interruptions in one transaction and resumes their runs. After the commit it wakes the queue and announces the
 * runs. With `retry`, a transient error of the database repeats the transaction.
 */
export async function settleAndResume<T>(
  ctx: StepContext,
  work: (settling: SettlementBatch) => Promise<T>,
  { retry }: { readonly retry: boolean } = { retry: false },
): Promise<T> {
  const transact = () =>
    ctx.knex.transaction(async (trx) => {
      const settling = new SettlementBatch(ctx, trx);
      return { result: await work(settling), runIds: settling.runIds };
    });
  const { result, runIds } = await (retry ? withDatabaseRetry(transact) : transact());
  if (runIds.size > 0) ctx.queue.wake();
  for (const runId of runIds) ctx.changed(runId);
  return result;
}

/** Locks runs and resumes those of them that wait for nothing undecided. */
export async function resumeDecided(ctx: StepContext, trx: Knex.Transaction, runIds: readonly string[]): Promise<void> {
  if (runIds.length > 0) await resumeLocked(ctx, trx, await lockRuns(trx, runIds));
}

/**
 * Resumes paused runs that have nothing undecided left. This is the only place that decides it, always under the locks of
 * the runs' rows. `settled` is an interruption that this transaction settles at the same time.
 */
async function resumeLocked(
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
