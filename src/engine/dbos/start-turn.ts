import { setTimeout as sleep } from 'node:timers/promises';
import type { Database } from '../../storage/database/database.js';

const LOCK = 'holdfast:start';
const LOOK_EVERY_MS = 50;
/** Beyond it something else is wrong, which the start finds out. */
const WAIT_MAX_MS = 60_000;

/**
 * Waits for its turn to start on a database, and gives the way out. DBOS makes its tables when it is launched: a process that
 * makes them, or reads them, while another one does ends in a deadlock or finds half of a table. Nobody waits inside a
 * statement, for which whoever makes an index would wait.
 */
export async function startTurn(database: Pick<Database, 'tryLock'>): Promise<() => Promise<void>> {
  for (let waited = 0; waited < WAIT_MAX_MS; waited += LOOK_EVERY_MS) {
    const lock = await database.tryLock(LOCK);
    if (lock !== null) return () => lock.release();
    await sleep(LOOK_EVERY_MS);
  }
  return () => Promise.resolve();
}
