import type { Knex } from 'knex';
import type { RunRow } from '../runs/run-row.js';
import { runs } from '../runs/runs.js';

/** Whether a segment of the run has begun: of a fork, one of its own. */
export async function hasBegun(db: Knex, run: Pick<RunRow, 'id' | 'recorded_seq'>): Promise<boolean> {
  const own = db('holdfast.events')
    .where({ run_id: run.id, kind: 'segment.started' })
    .where('seq', '>', run.recorded_seq ?? 0);
  return (await own.first('seq')) !== undefined;
}

/** A run that was forked from this one; null: none was. */
export async function forkOf(db: Knex, id: string): Promise<string | null> {
  const row = await runs(db).where({ forked_from_run_id: id }).first('id');
  return row?.id ?? null;
}

/** Removes a run with all that hangs on it. The session that it was in is free. */
export async function deleteRunRows(trx: Knex.Transaction, id: string): Promise<void> {
  await trx('holdfast.emitted_events').where({ run_id: id }).delete();
  await trx('holdfast.dispatch_starts').where({ run_id: id }).delete();
  await runs(trx).where({ id }).delete();
}
