import type { StepContext } from '../context.js';
import { withDatabaseRetry } from '../database-retry.js';

/** Another process has this one's place, or the run is over: what is left of this execution asks nobody and keeps nothing. */
export class LostExecutionError extends Error {
  constructor(runId: string) {
    super(`This execution of run ${runId} was given up: its worker was taken over, or the run is over.`);
    this.name = 'LostExecutionError';
  }
}

/** Asks the database. Throws `LostExecutionError` when a newer process has the worker id. */
export async function assertStillOwner({ lease }: StepContext, runId: string): Promise<void> {
  if (!(await withDatabaseRetry(() => lease.confirm()))) throw new LostExecutionError(runId);
}

/** Asks the database only where the last heartbeat is old. Throws `LostExecutionError` when a newer process has the worker id. */
export async function assertLeased({ lease }: StepContext, runId: string): Promise<void> {
  if (!(await withDatabaseRetry(() => lease.isHeld()))) throw new LostExecutionError(runId);
}
