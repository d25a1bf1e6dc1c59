import type { Knex } from 'knex';
import { HoldfastError } from '../../core/errors/errors.js';
import type { CopyElsewhere } from '../../core/retention/erasure.js';
import { isOver } from '../../core/runs/run.js';
import { removeSegments } from '../../storage/dbos/segment-rows.js';
import { exportsWith } from '../../storage/exports/exported-runs.js';
import { eraseContent, removeRun } from '../../storage/retention/erase-run.js';
import { copiesOf, type Erasing, insertErasure, readerOf } from '../../storage/retention/erasures.js';
import { enterLoss, lossDraft } from '../../storage/retention/lost-rows.js';
import { lockFamily } from '../../storage/runs/families.js';
import type { RunRow } from '../../storage/runs/run-row.js';

/** `before`: nothing is left of it. `ending`: its last segment is still at work, and nothing was done. */
export type Gone =
  | { readonly copies: readonly CopyElsewhere[]; readonly exports: readonly string[] }
  | 'before'
  | 'ending';

/** Throws `run_not_over`. */
export function assertOver({ id, status }: Pick<RunRow, 'id' | 'status'>, of = ''): void {
  if (!isOver(status)) throw new HoldfastError('run_not_over', `Run ${id}${of} is ${status}.`);
}

/** Erases the content of a run, in the caller's transaction, of which it is the end. Throws `run_not_over`. */
export async function eraseLocked(trx: Knex.Transaction, id: string, by: Erasing): Promise<Gone> {
  const run = await lockFamily(trx, id);
  if (run === undefined || run.erased_at !== null) return 'before';
  if (!(await isFree(trx, run))) return 'ending';
  const copies = await copiesOf(trx, run);
  const draft = await lossDraft(trx, id, { loss: 'erased', ...by });
  await insertErasure(trx, id, by);
  await eraseContent(trx, run);
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
