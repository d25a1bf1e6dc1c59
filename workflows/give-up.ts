import { DBOS, DBOSWorkflowConflictError } from '@dbos-inc/dbos-sdk';
import { LostExecutionError } from '../steps/calls/lost-execution.js';
import { isTransient } from '../steps/database-retry.js';

/**
 * Does something, and gives this execution of the segment up when the database is away for too long, or when another process has taken
 * it over: by this error DBOS records nothing, neither of the step nor of the workflow, so that the segment is executed again.
 */
export async function abandonOnDatabaseOutage<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const isGivenUp = isTransient(error) || error instanceof LostExecutionError;
    throw isGivenUp ? new DBOSWorkflowConflictError(DBOS.workflowID ?? '') : error;
  }
}
