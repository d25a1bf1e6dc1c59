import { DBOS } from '@dbos-inc/dbos-sdk';
import type { Database } from '../storage/database.js';

/**
 * Waits at most so long for what is at work, and shuts DBOS down. An execution that outlives its grace finds no DBOS any more,
 * and would record that as the error of its step and of its run: before that its way to the database ends, so that it records
 * nothing, and is executed again by whoever takes it over.
 */
export async function shutDbosDown(database: Database, graceMs: number): Promise<void> {
  const endPool = (): void => void database.endPool();
  if (graceMs === 0) endPool();
  // It is set before the timer of DBOS, and comes before it.
  const timer = setTimeout(endPool, graceMs);
  try {
    await DBOS.shutdown({ deregister: true, workflowCompletionTimeoutMS: graceMs });
  } finally {
    clearTimeout(timer);
  }
}
