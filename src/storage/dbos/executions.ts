import type { Knex } from 'knex';
import { inOneFlight } from '../database/transactions.js';
import { familyOf, lockFamily } from '../runs/families.js';
import type { RunRow } from '../runs/run-row.js';

/** An execution of a workflow: it owns the workflow as long as its token stands in the row. */
export interface Execution {
  readonly workflowId: string;
  readonly owner: string;
}

/**
 * `lockFamily` for an execution of a segment. `lost`: another one has taken the segment over, and this one may write nothing of
 * the run.
 */
export async function lockFamilyFor(
  trx: Knex.Transaction,
  id: string,
  execution: Execution | null,
): Promise<RunRow | undefined | 'lost'> {
  if (execution === null) return lockFamily(trx, id);
  const statements = [...familyOf(trx, id), heldBy(trx, execution)] as const;
  const [, [run], held] = await inOneFlight<[object, RunRow, object]>(trx, statements);
  return held.length === 0 ? 'lost' : run;
}

/** Holds the row of a workflow until the transaction ends, if it is still of this execution. No row: another one has taken it over. */
const heldBy = (trx: Knex.Transaction, { workflowId, owner }: Execution) =>
  trx('dbos.workflow_status')
    .where({ workflow_uuid: workflowId, owner_xid: owner })
    .forNoKeyUpdate()
    .select('workflow_uuid');
