import type { Caller } from '../../core/caller.js';
import { HoldfastError } from '../../core/errors/errors.js';
import { usdOf } from '../../core/money.js';
import type { Page, PageOf } from '../../core/page.js';
import {
  BATCH_CANCELLED_MOST,
  BATCH_COUNTED_MOST,
  type BatchRow,
  type BatchView,
  type CancelledBatch,
} from '../../core/tasks/batch.js';
import { passRateOf } from '../../core/tasks/pass-rate.js';
import type { TrajectoryResult } from '../../core/trajectories/trajectory-result.js';
import { legibleRows, viewOfRow } from '../../storage/database/legible-rows.js';
import { atOneMoment } from '../../storage/database/transactions.js';
import { cursorAfter } from '../../storage/runs/run-list.js';
import {
  type BatchCounts,
  countBatches,
  factsOfBatch,
  findBatch,
  type ListedBatch,
  listBatchRows,
  tasksToCancel,
  unsuccessfulOf,
} from '../../storage/tasks/batches.js';
import type { EngineContext } from '../engine-context.js';
import { cancelTask } from './task-operations.js';

const unknown = (key: string): HoldfastError =>
  new HoldfastError('batch_unknown', `There is no batch ${JSON.stringify(key)}.`);

const NONE = { tasks: 0, open: 0, completed: 0, failed: 0, cancelled: 0, passed: 0, mean_reward: null };

type Submitted = Pick<ListedBatch, 'key' | 'actor' | 'submitted_at' | 'lines' | 'refused'>;

const rowOf = (row: Submitted, counts: Omit<BatchCounts, 'key'> = NONE): BatchRow =>
  viewOfRow(row, { table: 'batches', row: row.key }, (one) => shownBatch(one, counts));

function shownBatch(
  { key, actor, submitted_at: at, lines, refused }: Submitted,
  counts: Omit<BatchCounts, 'key'>,
): BatchRow {
  const { tasks, open, completed, failed, cancelled, passed, mean_reward: meanReward } = counts;
  return {
    ...{ key, actor, submittedAt: at.toISOString(), lines, refused },
    ...{ tasks: Math.min(tasks, BATCH_COUNTED_MOST), open, completed, failed, cancelled },
    ...{ atLeast: tasks > BATCH_COUNTED_MOST, passRate: passRateOf(passed, completed + failed), meanReward },
  };
}

/** Batches, newest first. */
const listBatches = (
  { stepContext: { knex } }: EngineContext,
  of: PageOf,
  { tenant }: Caller,
): Promise<Page<BatchRow>> =>
  atOneMoment(knex, async (trx) => {
    const page = await listBatchRows(trx, tenant, of);
    const counts = await countBatches(
      trx,
      tenant,
      page.rows.map(({ key }) => key),
    );
    const shown = legibleRows(
      page.rows,
      ({ key }) => key,
      (row) => rowOf(row, counts.get(row.key)),
    );
    return { ...shown, nextCursor: cursorAfter(page) };
  });

const REASON_CHARS = 200;
const FAILURES_MOST = 20;

/** By what a task did not succeed. */
function namesOf(result: TrajectoryResult): readonly string[] {
  if (result.type === 'error') return [result.code];
  if (result.type === 'partial_success') return result.missing;
  return 'reason' in result ? [result.reason.slice(0, REASON_CHARS)] : [];
}

function failuresOf(tasks: Awaited<ReturnType<typeof unsuccessfulOf>>): BatchView['failures'] {
  const found = new Map<string, BatchView['failures'][number]>();
  for (const { id, result } of tasks)
    for (const name of namesOf(result)) {
      const key = JSON.stringify([result.type, name]);
      const one = found.get(key) ?? { type: result.type, name, count: 0, taskId: id };
      found.set(key, { ...one, count: one.count + 1 });
    }
  return [...found.values()].sort((a, b) => b.count - a.count).slice(0, FAILURES_MOST);
}

/** Throws `batch_unknown`. */
const getBatch = ({ stepContext: { knex } }: EngineContext, key: string, { tenant }: Caller): Promise<BatchView> =>
  atOneMoment(knex, async (trx) => {
    const row = await findBatch(trx, tenant, key);
    if (row === undefined) throw unknown(key);
    const counts = await countBatches(trx, tenant, [key]);
    const { nanoUsd, ...facts } = await factsOfBatch(trx, tenant, key);
    const failures = failuresOf(await unsuccessfulOf(trx, tenant, key));
    return { ...rowOf(row, counts.get(key)), ...facts, failures, costUsd: usdOf(BigInt(nanoUsd)) };
  });

/** Tasks of one request that are stopped together. */
const TOGETHER = 8;

/** Asks open tasks of a batch to stop, some by a request. Throws `batch_unknown`. */
async function cancelBatch(
  context: EngineContext,
  key: string,
  reason: string | null,
  caller: Caller,
): Promise<CancelledBatch> {
  const { tenant } = caller;
  const { knex } = context.stepContext;
  if ((await findBatch(knex, tenant, key)) === undefined) throw unknown(key);
  const { ids, left } = await tasksToCancel(knex, { tenant, key, limit: BATCH_CANCELLED_MOST });
  let cancelled = 0;
  const one = async (id: string): Promise<void> => {
    try {
      await cancelTask(context, id, reason, caller);
      cancelled += 1;
    } catch (error) {
      // It ended meanwhile, or was removed.
      if (!(error instanceof HoldfastError && ['task_over', 'task_unknown'].includes(error.code))) throw error;
    }
  };
  for (let at = 0; at < ids.length; at += TOGETHER) await Promise.all(ids.slice(at, at + TOGETHER).map(one));
  return { cancelled, left };
}

export const BATCH_OPERATIONS = {
  /** Batches of tasks, newest first, with how their tasks stand. */
  listBatches,
  /** Throws `batch_unknown`. */
  getBatch,
  /** Asks open tasks of a batch to stop, up to 200 by a request, and says how many are left. Throws `batch_unknown`. */
  cancelBatch,
};
