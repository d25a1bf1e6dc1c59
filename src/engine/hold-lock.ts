import { HoldfastError } from '../core/errors.js';
import type { Database, SessionLock } from '../storage/database.js';
import type { EngineLog } from './parts.js';
import type { ProcessGate } from './step-gate.js';
import { regainLock, type Worker } from './worker.js';

/** Others may take over so long after the lock was lost that is not had again. */
const LOST_AFTER_MS = 2000;

interface Held {
  readonly database: Database;
  readonly worker: Worker;
  readonly gate: ProcessGate;
  readonly log: EngineLog;
}

/**
 * Keeps the lock of a worker: without it this process cannot know that it is the only one of its id, so that no step begins
 * until it is taken again. `lost` is called when that cannot be. Resolves what it holds when it is asked to release it.
 */
export function holdLock(
  { database, worker, gate, log }: Held,
  lost: (error: HoldfastError) => void,
): () => Promise<void> {
  let lock: SessionLock = worker.lock;
  const watch = (): void =>
    lock.onLost(() => {
      gate.shut();
      log.warn(
        { component: 'worker', event: 'lock_lost', workerId: worker.id },
        'the connection that holds the lock of this worker was lost',
      );
      void regainLock(database, worker, LOST_AFTER_MS).then((again) => {
        if (again === null)
          return lost(
            new HoldfastError('worker_superseded', `Worker ${worker.id} lost its lock and could not take it again.`),
          );
        lock = again;
        gate.open();
        watch();
      });
    });
  watch();
  return () => lock.release().catch(() => undefined);
}
