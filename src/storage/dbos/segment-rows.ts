import type { Knex } from 'knex';
import type { RunRow } from '../runs/run-row.js';
import { workflowIdOf } from './workflow-id.js';

/** Tables of DBOS that hold what was recorded of a workflow, and do not go with its status. */
const RECORDED = ['workflow_input', 'workflow_output', 'operation_outputs'];

const segmentsOf = (run: Pick<RunRow, 'id' | 'segment'>): string[] =>
  Array.from({ length: run.segment + 1 }, (_, segment) => workflowIdOf(run.id, segment));

/**
 * Removes all that DBOS has of the segments of a run that is over. False: one of them is still being executed, and nothing is
 * removed; it has its last step to record, or its worker has died and nobody has taken it over yet.
 */
export async function removeSegments(trx: Knex.Transaction, run: Pick<RunRow, 'id' | 'segment'>): Promise<boolean> {
  const ids = segmentsOf(run);
  const { rows }: { rows: { status: string }[] } = await trx.raw(
    'select status from dbos.workflow_status where workflow_uuid = any(?) order by workflow_uuid for update',
    [ids],
  );
  if (rows.some(({ status }) => status === 'PENDING')) return false;
  for (const table of [...RECORDED, 'workflow_status'])
    await trx.raw('delete from dbos.?? where workflow_uuid = any(?)', [table, ids]);
  return true;
}

/** Whether a worker has a segment of the run, living or dead. */
export async function hasWorkingSegment(db: Knex, run: Pick<RunRow, 'id' | 'segment'>): Promise<boolean> {
  const { rows }: { rows: object[] } = await db.raw(
    "select from dbos.workflow_status where workflow_uuid = any(?) and status = 'PENDING' limit 1",
    [segmentsOf(run)],
  );
  return rows.length > 0;
}

/** Whether a segment has recorded a step of this name. */
export async function hasStep(db: Knex, workflowId: string, name: string): Promise<boolean> {
  const step = await db('dbos.operation_outputs')
    .where({ workflow_uuid: workflowId, function_name: name })
    .first('function_id');
  return step !== undefined;
}
