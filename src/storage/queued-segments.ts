import type { Knex } from 'knex';
import { NOW_MS } from './clock.js';

/** Cancels a segment that waits in the queue. Nothing happens to one that a worker has taken: it finds its run over. */
export async function withdrawSegment(trx: Knex.Transaction, workflowId: string): Promise<void> {
  const now = trx.raw(NOW_MS);
  await trx('dbos.workflow_status')
    .where({ workflow_uuid: workflowId, status: 'ENQUEUED' })
    .update({ status: 'CANCELLED', queue_name: null, started_at_epoch_ms: null, updated_at: now, completed_at: now });
}

/** Removes all that DBOS has of a segment that waits in the queue. False: a worker has taken it, and nothing is removed. */
export async function removeSegment(trx: Knex.Transaction, workflowId: string): Promise<boolean> {
  const of = { workflow_uuid: workflowId };
  const removed = await trx('dbos.workflow_status')
    .where({ ...of, status: 'ENQUEUED' })
    .delete();
  if (removed === 0) return false;
  for (const table of ['workflow_input', 'workflow_output', 'operation_outputs'])
    await trx(`dbos.${table}`).where(of).delete();
  return true;
}
