import { hostname } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { HoldfastError } from '../core/errors.js';
import type { Database, SessionLock } from '../storage/database.js';
import { endSessions, type LeftSegment, takeSegments } from '../storage/takeover.js';
import { isOwner, type NewWorker, registerWorker } from '../storage/workers.js';

/** How long a start waits for the lock of a predecessor that was killed: its database session ends within moments. */
const LOCK_WAIT_MS = 3000;
/** The same where another name would do as well. */
const NAME_WAIT_MS = 1000;
const LOCK_RETRY_MS = 100;
const NAMES_PER_HOST = 100;
/** How long a worker tries to reach the database again; it starts nothing meanwhile. */
const UNREACHABLE_MS = 10 * 60_000;

export interface Worker {
  readonly id: string;
  readonly epoch: number;
  readonly lock: SessionLock;
  /** What a predecessor under this id has left, and is in the queue again. */
  readonly left: readonly LeftSegment[];
}

export interface Wanted extends Omit<NewWorker, 'id' | 'session'> {
  /** Null: the host's name, with a number behind it where several processes work on one host. */
  readonly id: string | null;
  readonly workflow: string;
  readonly crashLimit: number;
}

export const lockName = (id: string): string => `holdfast:worker:${id}`;

/**
 * Becomes the one live process of a worker id: takes its lock before anything runs, then raises its epoch, which fences a
 * predecessor that still breathes, and takes its segments. Throws `worker_id_in_use`.
 */
export async function becomeWorker(database: Database, wanted: Wanted): Promise<Worker> {
  const { id, lock } = await takePlace(database, wanted.id);
  const { role, capacity, build, pid, recordingVersion } = wanted;
  const { session } = database;
  await endSessions(database.knex, id);
  return database.knex.transaction(async (trx) => {
    const left = await takeSegments(trx, { ...wanted, worker: id });
    return {
      id,
      epoch: await registerWorker(trx, { id, role, capacity, build, recordingVersion, pid, session }),
      lock,
      left,
    };
  });
}

async function takePlace(database: Database, wanted: string | null): Promise<{ id: string; lock: SessionLock }> {
  const first = wanted ?? (database.kind === 'pglite' ? 'local' : hostname());
  const lock = await waitForLock(database, first, wanted === null ? NAME_WAIT_MS : LOCK_WAIT_MS);
  if (lock !== null) return { id: first, lock };
  for (let n = 2; wanted === null && n <= NAMES_PER_HOST; n++) {
    const id = `${first}-${n}`;
    const other = await database.tryLock(lockName(id));
    if (other !== null) return { id, lock: other };
  }
  throw new HoldfastError(
    'worker_id_in_use',
    `Another live process runs as worker ${JSON.stringify(first)} on this database.`,
  );
}

async function waitForLock(database: Database, id: string, atMostMs: number): Promise<SessionLock | null> {
  const until = performance.now() + atMostMs;
  for (;;) {
    const lock = await database.tryLock(lockName(id));
    if (lock !== null || performance.now() >= until) return lock;
    await sleep(LOCK_RETRY_MS);
  }
}

/**
 * Takes the lock again after its connection was lost. Null: this process must not work on, because another one holds the lock
 * for `heldMs`, has become this worker meanwhile, or the database stays away. Nobody else can take the place of a worker while
 * the database is away, so that it is waited for.
 */
export async function regainLock(
  database: Database,
  { id, epoch }: Pick<Worker, 'id' | 'epoch'>,
  heldMs: number,
): Promise<SessionLock | null> {
  const until = performance.now() + UNREACHABLE_MS;
  let heldSince: number | null = null;
  while (performance.now() < until) {
    try {
      const lock = await database.tryLock(lockName(id));
      if (lock !== null) {
        if (await isOwner(database.knex, id, epoch)) return lock;
        await lock.release();
        return null;
      }
      heldSince ??= performance.now();
      if (performance.now() - heldSince >= heldMs) return null;
    } catch {
      heldSince = null;
    }
    await sleep(LOCK_RETRY_MS);
  }
  return null;
}
