import { HoldfastError } from '../../core/errors/errors.js';
import type { EngineLog } from '../../core/ops/log-record.js';
import type { Database, SessionLock } from '../../storage/database/database.js';
import { END_WITHIN_MS, within } from '../../storage/database/timing.js';
import type { ProcessGate } from './step-gate.js';
import { regainLock, type Worker } from './worker.js';

interface Held {
  readonly database: Database;
  readonly worker: Worker;
  readonly gate: ProcessGate;
  readonly log: EngineLog;
}

/**
 * Keeps the lock of a worker: without it this process cannot know that it is the only one of its id, so that no step begins
 * until it is taken again. `lost` is called when a newer process has the id.
 * Returns a function that releases the lock and ends the wait for one.
 */
export function holdLock(
  { database, worker, gate, log }: Held,
  lost: (error: HoldfastError) => void,
): () => Promise<void> {
  let lock: SessionLock = worker.lock;
  let regaining: Promise<void> = Promise.resolve();
  const released = new AbortController();
  const watch = (): void =>
    lock.onLost(() => {
      gate.shut();
      log.warn(
        { component: 'worker', event: 'lock_lost', workerId: worker.id },
        'the connection that holds the lock of this worker was lost',
      );
      regaining = regain().catch(() => undefined);
    });
  const regain = async (): Promise<void> => {
    const again = await regainLock(database, worker, lock, released.signal);
    if (again === null) return lost(superseded(worker.id));
    lock = again;
    gate.open();
    watch();
  };
  watch();
  return async () => {
    released.abort();
    await within(END_WITHIN_MS, regaining);
    await lock.release().catch(() => undefined);
  };
}

const superseded = (id: string): HoldfastError =>
  new HoldfastError('worker_superseded', `A newer process runs as worker ${id}, or others took it over.`);
