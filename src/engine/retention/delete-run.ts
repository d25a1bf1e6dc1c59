import { setTimeout as sleep } from 'node:timers/promises';
import type { Knex } from 'knex';
import type { Caller } from '../../core/caller.js';
import { HoldfastError } from '../../core/errors/errors.js';
import { fieldErrorsOf, invalidRequest } from '../../core/field-errors.js';
import { plainText } from '../../core/json.js';
import {
  type CopyElsewhere,
  type EraseRun,
  type ErasureView,
  eraseRun as eraseShape,
} from '../../core/retention/erasure.js';
import { isOver, type RunView } from '../../core/runs/run.js';
import { viewOfRow } from '../../storage/database/legible-rows.js';
import { removeSegments } from '../../storage/dbos/segment-rows.js';
import { exportsWith } from '../../storage/exports/exported-runs.js';
import {
  deleteRunRows,
  eraseContent,
  forkOf,
  hasBegun,
  insertRemovedRun,
  removeRun,
} from '../../storage/retention/erase-run.js';
import {
  copiesOf,
  type Erasing,
  familyToErase,
  findErasure,
  insertErasure,
  readerOf,
} from '../../storage/retention/erasures.js';
import { enterLoss, lossDraft } from '../../storage/retention/lost-rows.js';
import { lockFamily } from '../../storage/runs/families.js';
import { type RunRow, runViewOf } from '../../storage/runs/run-row.js';
import { findRun } from '../../storage/runs/runs.js';
import type { EngineContext } from '../engine-context.js';

/**
 * Removes a run that never began, as if it had not been started: its rows, its key, its place in the queue. What has begun has
 * a log, which is kept. A worker that takes the run at the same time either finds nothing, or has taken it and keeps it.
 */
export async function deleteRun(context: EngineContext, id: string, caller: Caller): Promise<RunView> {
  const { stepContext } = context;
  const deleted = await stepContext.knex.transaction(async (trx) => {
    const seen = await findRun(trx, caller.tenant, id);
    const run = seen && (await lockFamily(trx, id));
    if (run === undefined) throw new HoldfastError('run_unknown', `There is no run ${JSON.stringify(id)}.`);
    if (run.status !== 'queued' || (await hasBegun(trx, run)))
      throw new HoldfastError(
        'run_begun',
        `Run ${id} is ${run.status}; what has begun or is over is kept with its log.`,
      );
    if (run.parent_run_id !== null)
      throw new HoldfastError('run_referenced', `Run ${run.parent_run_id} has started run ${id} and waits for it.`);
    if (run.task_id !== null)
      throw new HoldfastError('run_referenced', `Run ${id} executes task ${run.task_id}: cancel the task.`);
    const fork = await forkOf(trx, id);
    if (fork !== null) throw new HoldfastError('run_referenced', `Run ${fork} was forked from run ${id} and names it.`);
    if (!(await stepContext.queue.remove(trx, { runId: id, segment: run.segment })))
      throw new HoldfastError('run_begun', `Run ${id} was just taken by a worker.`);
    const by = { actor: caller.actor, reason: 'It had not begun.' };
    const draft = await lossDraft(trx, id, { loss: 'removed', ...by });
    await insertRemovedRun(trx, id, by);
    await deleteRunRows(trx, id);
    await enterLoss(trx, draft);
    return run;
  });
  context.changes.announce(id);
  return runViewOf(deleted, []);
}

/** `before`: nothing is left of it. `ending`: its last segment is still at work, and nothing was done. */
type Gone = { readonly copies: readonly CopyElsewhere[]; readonly exports: readonly string[] } | 'before' | 'ending';

/** Throws `run_not_over`. */
function assertOver({ id, status }: Pick<RunRow, 'id' | 'status'>, of = ''): void {
  if (!isOver(status)) throw new HoldfastError('run_not_over', `Run ${id}${of} is ${status}.`);
}

/** Erases the content of a run, as the end of the caller's transaction. Throws `run_not_over`. */
export async function eraseLocked(trx: Knex.Transaction, id: string, by: Erasing): Promise<Gone> {
  const run = await lockFamily(trx, id);
  if (run === undefined || run.erased_at !== null) return 'before';
  if (!(await isFree(trx, run))) return 'ending';
  const copies = await copiesOf(trx, run);
  const draft = await lossDraft(trx, id, { loss: 'erased', ...by });
  await insertErasure(trx, id, by);
  await eraseContent(trx, run, by.keepsMemory === true);
  const exports = await exportsWith(trx, id);
  await enterLoss(trx, draft);
  return { copies, exports };
}

/** Removes a run with its log, and keeps where that ended, as the end of the caller's transaction. Throws `run_not_over`. */
export async function removeLocked(trx: Knex.Transaction, id: string, by: Erasing): Promise<Gone> {
  const run = await lockFamily(trx, id);
  if (run === undefined) return 'before';
  if (!(await isFree(trx, run))) return 'ending';
  const copies = await copiesOf(trx, run);
  const draft = await lossDraft(trx, id, { loss: 'removed', ...by });
  await removeRun(trx, run, by);
  const exports = await exportsWith(trx, id);
  await enterLoss(trx, draft);
  return { copies, exports };
}

async function isFree(trx: Knex.Transaction, run: RunRow): Promise<boolean> {
  assertOver(run);
  const reader = await readerOf(trx, run);
  if (reader !== null) assertOver(reader, `, which may still read the result of run ${run.id},`);
  return removeSegments(trx, run);
}

const FAMILY_AT_ONCE = 100;
const EXPORTS_NAMED = 100;
/** A run is over a moment before its last segment is. */
const ENDS_WITHIN_MS = 5000;
const LOOK_EVERY_MS = 100;

/**
 * Erases the content of a run that is over; its log stays whole without it. With `family`, also of those below it and of forks,
 * each in a transaction of its own and the run itself last: who repeats the request after a crash goes on where it ended.
 * Repeating it is no error.
 */
export async function eraseRun(
  context: EngineContext,
  id: string,
  request: EraseRun,
  caller: Caller,
): Promise<ErasureView> {
  const parsed = eraseShape.safeParse(request);
  if (!parsed.success) throw invalidRequest(fieldErrorsOf(parsed.error));
  const { knex } = context.stepContext;
  const seen = await findRun(knex, caller.tenant, id);
  if (seen === undefined) throw unknown(id);
  assertOver(seen);
  const by = { actor: caller.actor, reason: plainText(parsed.data.reason) };
  const erased: string[] = [];
  const copies: CopyElsewhere[] = [];
  const exports = new Set<string>();
  const erase = async (one: string): Promise<void> => {
    const done = await eraseOne(context, one, by);
    if (done === null) return;
    erased.push(one);
    copies.push(...done.copies);
    for (const one of done.exports) exports.add(one);
  };
  if (parsed.data.family) {
    for (;;) {
      const below = await familyToErase(knex, id, FAMILY_AT_ONCE);
      for (const one of below) await erase(one);
      if (below.length < FAMILY_AT_ONCE) break;
    }
  }
  await erase(id);
  const kept = await findErasure(knex, id);
  if (kept === undefined) throw unknown(id);
  const { actor, reason } = kept;
  const erasedAt = viewOfRow(kept, { table: 'erasures', row: id }, (one) => one.erased_at.toISOString());
  const gone = new Set(erased);
  const left = erased.length === 0 ? await copiesOf(knex, seen) : copies.filter(({ runId }) => !gone.has(runId));
  for (const one of await exportsWith(knex, id)) exports.add(one);
  const named = [...exports].slice(0, EXPORTS_NAMED);
  return { runId: id, erasedAt, actor, reason, erased, copies: left, exports: named };
}

const unknown = (id: string): HoldfastError =>
  new HoldfastError('run_unknown', `There is no run ${JSON.stringify(id)}.`);

/** Null: it was erased before, or is gone. Throws `run_not_over`. */
async function eraseOne(context: EngineContext, id: string, by: Erasing): Promise<Exclude<Gone, string> | null> {
  for (let waitedMs = 0; ; waitedMs += LOOK_EVERY_MS) {
    const outcome = await context.stepContext.knex.transaction((trx) => eraseLocked(trx, id, by));
    if (outcome === 'before') return null;
    if (outcome !== 'ending') {
      context.changes.announce(id);
      return outcome;
    }
    if (waitedMs >= ENDS_WITHIN_MS)
      throw new HoldfastError(
        'run_not_over',
        `Run ${id} is over, and its last segment is not: a worker still has it.`,
        {
          hint: 'Try again in a moment. If its worker has died, another one takes it over; one must run for that.',
        },
      );
    await sleep(LOOK_EVERY_MS);
  }
}
