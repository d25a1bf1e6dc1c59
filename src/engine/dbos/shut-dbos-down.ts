import { DBOS } from '@dbos-inc/dbos-sdk';
import type { Database } from '../../storage/database/database.js';
import { refuseConnections } from '../../storage/database/refuse-connections.js';

const DEFAULT_GRACE_MS = 10_000;

/**
 * Waits at most so long for what is at work, and shuts DBOS down. An execution that outlives its grace finds no DBOS any more,
 * and would record that as the error of its step and of its run: before that it gets no connection any more, so that it records
 * nothing, and is executed again by whoever takes it over.
 */
export async function shutDbosDown({ pool }: Database, askedMs = DEFAULT_GRACE_MS): Promise<void> {
  // DBOS refuses what a timer cannot hold.
  const graceMs = Math.min(Math.max(0, askedMs), 2 ** 31 - 1);
  const refuse = (): void => refuseConnections(pool);
  if (graceMs === 0) refuse();
  // It is set before the timer of DBOS, and comes before it.
  const timer = setTimeout(refuse, graceMs);
  try {
    await DBOS.shutdown({ deregister: true, workflowCompletionTimeoutMS: graceMs });
  } finally {
    clearTimeout(timer);
  }
}
