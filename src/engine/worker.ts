import { hostname } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { HoldfastError } from '../core/errors.js';
import type { Database, SessionLock } from '../storage/database.js';
import { registerWorker } from '../storage/workers.js';

/** How long a start waits for the lock of a predecessor that was killed: its database session ends within moments. */
const LOCK_WAIT_MS = 3000;
const LOCK_RETRY_MS = 100;

export interface Worker {
  readonly id: string;
  readonly epoch: number;
  readonly lock: SessionLock;
}

const lockName = (id: string): string => `holdfast:worker:${id}`;

/**
 * Becomes the one live process of a worker id: takes its lock before anything runs, then raises its epoch, which fences a
 * predecessor that still breathes. Throws `worker_id_in_use`.
 */
export async function becomeWorker(database: Database, wanted: string | null, build: string): Promise<Worker> {
  const id = wanted ?? (database.kind === 'pglite' ? 'local' : hostname());
  const until = Date.now() + LOCK_WAIT_MS;
  for (;;) {
    const lock = await database.tryLock(lockName(id));
    if (lock !== null) return { id, epoch: await registerWorker(database.knex, { id, build, pid: process.pid }), lock };
    if (Date.now() >= until) {
      throw new HoldfastError(
        'worker_id_in_use',
        `Another live process runs as worker ${JSON.stringify(id)} on this database.`,
      );
    }
    await sleep(LOCK_RETRY_MS);
  }
}

/** Takes the lock again after its connection was lost; false: another process has it, or the database stays away. */
export async function regainLock(database: Database, id: string, withinMs: number): Promise<SessionLock | null> {
  const until = Date.now() + withinMs;
  while (Date.now() < until) {
    const lock = await database.tryLock(lockName(id)).catch(() => null);
    if (lock !== null) return lock;
    await sleep(LOCK_RETRY_MS);
  }
  return null;
}
