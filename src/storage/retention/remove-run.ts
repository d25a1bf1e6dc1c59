import type { Knex } from 'knex';
import { removeItemsOfRun } from '../agents/session-cut.js';
import { leaveExports } from '../exports/exported-runs.js';
import type { RunRow } from '../runs/run-row.js';
import { deleteRunRows } from './delete-run.js';
import { eraseToldEvents } from './erase-run.js';
import type { Erasing } from './erasures.js';

/** Keeps that a run was removed, by whom and why, and where its log ended: one that is missing without it was taken away. */
export async function insertRemovedRun(
  trx: Knex.Transaction,
  runId: string,
  { actor, reason }: Erasing,
): Promise<void> {
  await trx.raw(
    `insert into holdfast.removed_runs (run_id, tenant, seq, hash, state_hash, actor, reason)
     select run_id, tenant, seq, hash, state_hash, ?, ? from holdfast.run_heads where run_id = ?`,
    [actor, reason, runId],
  );
}

/** Removes a run that is over with everything of it but what it cost, under the lock of its row. */
export async function removeRun(trx: Knex.Transaction, run: RunRow, by: Erasing): Promise<void> {
  await insertRemovedRun(trx, run.id, by);
  await eraseToldEvents(trx, run);
  await leaveExports(trx, run);
  if (run.session_id !== null) await removeItemsOfRun(trx, run.tenant, run.session_id, run.id);
  await deleteRunRows(trx, run.id);
}
