import type { Knex } from 'knex';
import type { ErrorView } from '../../core/errors/errors.js';
import { canonical } from '../../core/json.js';
import { NOW_MS } from '../database/columns.js';
import type { ExportRow } from '../exports/exports.js';

/** A worker whose heartbeat is older than this does not export any more; that another one does the same would do no harm. */
const SILENT_SECONDS = 15;

export interface LeftExport {
  readonly id: string;
  readonly executor: string;
}

/** Exports that are at work under this worker id, or under one that is gone. */
export async function leftExports(db: Knex, workflow: string, self: string): Promise<readonly LeftExport[]> {
  const { rows }: { rows: LeftExport[] } = await db.raw(
    `select s.workflow_uuid as id, s.executor_id as executor
       from dbos.workflow_status s left join holdfast.workers w on w.id = s.executor_id
      where s.status = 'PENDING' and s.name = ?
        and (s.executor_id = ? or w.id is null or w.stopped_at is not null
             or w.heartbeat_at < now() - interval '${SILENT_SECONDS} seconds')`,
    [workflow, self],
  );
  return rows;
}

/** Puts exports back into the queue. What may be left of their executions records nothing. */
export const requeueExports = (db: Knex, workflow: string, ids: readonly string[]): Promise<number> =>
  db('dbos.workflow_status')
    .where({ status: 'PENDING', name: workflow })
    .whereIn('workflow_uuid', ids)
    .update({ status: 'ENQUEUED', owner_xid: null, started_at_epoch_ms: null, updated_at: db.raw(NOW_MS) });

/** Ends exports whose workflow has ended, and did not end them, with all that is listed of them. Gives which. */
export async function endDeadExports(db: Knex, workflow: string, error: ErrorView): Promise<ExportRow[]> {
  const { rows }: { rows: ExportRow[] } = await db.raw(
    `with dead as (
       update holdfast.exports e set status = 'failed', error = ?, sending = null, updated_at = now(), completed_at = now()
         from dbos.workflow_status s
        where s.workflow_uuid = e.id and s.name = ? and e.status in ('queued', 'running')
          and e.updated_at < now() - interval '5 seconds' and s.status not in ('ENQUEUED', 'PENDING', 'DELAYED')
       returning e.*),
     listed as (delete from holdfast.export_runs where export_id in (select id from dead)),
     said as (delete from holdfast.export_digests where export_id in (select id from dead))
     select * from dead`,
    [canonical({ ...error }), workflow],
  );
  return rows;
}
