import type { Knex } from 'knex';

/** An execution of a workflow: it owns the workflow as long as its token stands in the row. */
export interface Execution {
  readonly workflowId: string;
  readonly owner: string;
}

/** Holds the row of a workflow until the transaction ends, if it is still of this execution. No row: another one has taken it over. */
export const heldBy = (trx: Knex.Transaction, { workflowId, owner }: Execution) =>
  trx('dbos.workflow_status')
    .where({ workflow_uuid: workflowId, owner_xid: owner })
    .forNoKeyUpdate()
    .select('workflow_uuid');
