import type { Pool } from 'pg';

type Connected = (error: Error, client: undefined, done: () => void) => void;

/**
 * From now on a pool gives no one a connection, and who waits for one still gets it: `end` would leave those waiting forever
 * that asked in the same moment.
 */
export function refuseConnections(pool: Pool): void {
  const refusal = () => new Error('This process has stopped, and its pool gives no connection any more.');
  const connect = (callback?: Connected): Promise<never> | undefined => {
    if (callback === undefined) return Promise.reject(refusal());
    callback(refusal(), undefined, () => {});
    return undefined;
  };
  Object.assign(pool, { connect });
}
