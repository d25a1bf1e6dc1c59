import type { Caller } from '../../core/caller.js';
import { HoldfastError, isOfOne } from '../../core/errors/errors.js';
import { sha256 } from '../../core/json.js';
import {
  type BulkRequest,
  type BulkResult,
  FAMILY_MOST,
  type RunCounts,
  type RunFamily,
} from '../../core/runs/run-counts.js';
import { timeOf, timeOrNull } from '../../storage/database/legible-rows.js';
import { atOneMoment } from '../../storage/database/transactions.js';
import { countByError, countByHour, countByStatus, familyOf } from '../../storage/runs/run-counts.js';
import type { UntilSignal } from '../concurrency/concurrency-limits.js';
import type { EngineContext } from '../engine-context.js';
import { retryRun } from '../replay/fork-run.js';
import type { ListFilter } from './read-runs.js';

export const countRuns = (
  { stepContext: { knex } }: EngineContext,
  filter: ListFilter,
  { tenant }: Caller,
): Promise<RunCounts> =>
  atOneMoment(knex, async (trx) => {
    const of = { ...filter, tenant };
    const { counts, atLeast } = await countByStatus(trx, of);
    const byError = await countByError(trx, of);
    const byHour = await countByHour(trx, of);
    return {
      byStatus: counts,
      byError: byError.map((one) => ({ ...one, lastAt: timeOf(one.lastAt) })),
      byHour: byHour.map((one) => ({ ...one, at: timeOf(one.at) })),
      atLeast,
    };
  });

/** Throws `run_unknown`. */
export async function getFamily(
  { stepContext: { knex } }: EngineContext,
  id: string,
  { tenant }: Caller,
): Promise<RunFamily> {
  const rows = await familyOf(knex, tenant, id);
  if (rows.length === 0) throw new HoldfastError('run_unknown', `There is no run ${JSON.stringify(id)}.`);
  const items = rows.slice(0, FAMILY_MOST).map((row) => ({
    ...{ id: row.id, parentRunId: row.parent_run_id, callId: row.parent_call_id, agent: row.agent, status: row.status },
    forkedFrom:
      row.forked_from_run_id === null ? null : { runId: row.forked_from_run_id, seq: row.forked_from_seq ?? 0 },
    createdAt: timeOf(row.created_at),
    completedAt: timeOrNull(row.completed_at),
  }));
  return { items, more: rows.length > FAMILY_MOST };
}

const KEY_CHARS = 255;
/** The key of one run of a request. */
function keyOf(key: string, id: string): string {
  const whole = `${key}:${id}`;
  return whole.length <= KEY_CHARS ? whole : sha256(whole);
}

/** Runs of one request that are worked on together. */
const TOGETHER = 8;

/** Cancels runs, or tries them again, each by itself: what is refused of one stops none of the others. */
export async function bulkRuns(
  context: EngineContext,
  { action, ids, reason }: BulkRequest,
  caller: Caller,
  key?: string,
  { signal }: UntilSignal = {},
): Promise<BulkResult> {
  const one = async (id: string): Promise<BulkResult['items'][number]> => {
    try {
      signal?.throwIfAborted();
      const run =
        action === 'cancel'
          ? await context.cancel(id, reason ?? null, caller)
          : await context.long.forking(
              { name: `retry ${id}`, caller, ...(signal === undefined ? {} : { signal }) },
              (until) =>
                // The same request again tries none of them a second time.
                retryRun(context, id, {}, caller, key === undefined ? undefined : keyOf(key, id), until),
            );
      return { id, run: { id: run.id, status: run.status }, error: null };
    } catch (error) {
      if (signal?.aborted === true || !isOfOne(error)) throw error;
      return { id, run: null, error: { code: error.code, detail: error.message } };
    }
  };
  const items: BulkResult['items'] = [];
  const unique = [...new Set(ids)];
  for (let at = 0; at < unique.length; at += TOGETHER)
    items.push(...(await Promise.all(unique.slice(at, at + TOGETHER).map(one))));
  return { items };
}
