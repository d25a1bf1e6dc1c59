import { HoldfastError } from '../../core/errors/errors.js';
import type { Database, SessionLock } from '../../storage/database/database.js';
import type { EngineLog } from '../parts.js';
import type { ProcessGate } from './step-gate.js';
import { type NotRegained, regainLock, type Worker } from './worker.js';

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
      void regainLock(database, worker, lock).then((again) => {
        if (typeof again === 'string') return lost(reasonOf(again, worker.id));
        lock = again;
        gate.open();
        watch();
      });
    });
  watch();
  return () => lock.release().catch(() => undefined);
}

const reasonOf = (why: NotRegained, id: string): HoldfastError =>
  why === 'superseded'
    ? new HoldfastError('worker_superseded', `A newer process runs as worker ${id}, or others took it over.`)
    : new HoldfastError(
        'database_unreachable',
        `Worker ${id} lost its lock, and the database stayed away for too long.`,
      );
