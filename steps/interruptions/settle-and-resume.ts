import type { Knex } from 'knex';
import type { InterruptionRow } from '../../src/storage/interruptions/interruption-rows.js';
import type { RunRow } from '../../src/storage/runs/run-row.js';
import { lockRuns, queueDecided } from '../../src/storage/runs/runs-to-resume.js';
import type { QueuedSegment, StepContext, TakenSegment } from '../context.js';
import { withDatabaseRetry } from '../database-retry.js';
import { type InterruptionSettlement, type SettledRow, type Settlement, settle, settleEach } from './settle.js';

/** The settlements of one transaction. */
export class SettlementBatch {
  readonly trx: Knex.Transaction;
  /** The runs that the transaction changed: they are announced after the commit. */
  readonly runIds = new Set<string>();
  readonly #ctx: StepContext;
  /** What this process took, which has begun. */
  readonly #taken: TakenSegment[] = [];

  constructor(ctx: StepContext, trx: Knex.Transaction) {
    this.#ctx = ctx;
    this.trx = trx;
  }

  /** Settles one interruption of a locked run. If nothing undecided is left, the run goes on: in this process, where that has a slot. */
  async settle(run: RunRow, row: InterruptionRow, settlement: Settlement): Promise<SettledRow> {
    this.runIds.add(run.id);
    const taking = this.#take(run, row.id);
    try {
      const [settled, segment] = await Promise.all([settle(this.#ctx, this.trx, row, settlement), taking]);
      if (segment !== null) {
        await segment.begin(this.trx);
        this.#taken.push(segment);
      }
      return settled;
    } catch (error) {
      void taking.then(
        (segment) => segment?.release(),
        () => undefined,
      );
      throw error;
    }
  }

  /** Null: the run still waits, or its segment is in the queue. */
  async #take(run: RunRow, settled: string): Promise<TakenSegment | null> {
    const [resumed] = await makeQueued(this.trx, [run], settled);
    return resumed === undefined ? null : this.#ctx.queue.takeHere(this.trx, segmentOf(resumed));
  }

  /** Settles interruptions and resumes those of the runs that have nothing undecided left. The runs are locked. */
  async settleEach(settlements: readonly InterruptionSettlement[], runIds: readonly string[]): Promise<void> {
    for (const id of runIds) this.runIds.add(id);
    await settleEach(this.#ctx, this.trx, settlements);
    await resumeDecided(this.#ctx, this.trx, [...new Set(runIds)]);
  }

  /** After the commit: starts what this process took, wakes the queue for all else, and announces the runs. */
  committed(): void {
    for (const segment of this.#taken) segment.start();
    if (this.runIds.size > this.#taken.length) this.#ctx.queue.wake();
    for (const runId of this.runIds) this.#ctx.changed(runId);
  }

  rolledBack(): void {
    for (const segment of this.#taken) segment.release();
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
  const transact = async () => {
    let batch: SettlementBatch | undefined;
    try {
      return await ctx.knex.transaction(async (trx) => {
        const settling = new SettlementBatch(ctx, trx);
        batch = settling;
        return { result: await work(settling), settling };
      });
    } catch (error) {
      batch?.rolledBack();
      throw error;
    }
  };
  const { result, settling } = await (retry ? withDatabaseRetry(transact) : transact());
  settling.committed();
  return result;
}

/** Locks runs and resumes those of them that wait for nothing undecided. */
export async function resumeDecided(ctx: StepContext, trx: Knex.Transaction, runIds: readonly string[]): Promise<void> {
  if (runIds.length === 0) return;
  const resumed = await makeQueued(trx, await lockRuns(trx, runIds), null);
  await ctx.queue.enqueue(trx, resumed.map(segmentOf));
}

/**
 * Makes paused runs `queued` that have nothing undecided left, and gives them. This is the only place that decides it, always under the
 * locks of the runs' rows. `settled` is an interruption that this transaction settles at the same time.
 */
async function makeQueued(
  trx: Knex.Transaction,
  runs: readonly RunRow[],
  settled: string | null,
): Promise<readonly RunRow[]> {
  const paused = runs.filter(({ status }) => status === 'paused');
  if (paused.length === 0) return [];
  const queued = await queueDecided(
    trx,
    paused.map(({ id }) => id),
    settled,
  );
  return paused.filter(({ id }) => queued.has(id));
}

const segmentOf = (run: RunRow): QueuedSegment => ({ run, segment: run.segment, band: 'resumed' });
