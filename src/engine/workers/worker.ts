import { hostname } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { HoldfastError } from '../../core/errors/errors.js';
import type { Page, PageOf } from '../../core/page.js';
import type { WorkerStop, WorkerView } from '../../core/queue/worker.js';
import type { Database, SessionLock } from '../../storage/database/database.js';
import { legibleRows } from '../../storage/database/legible-rows.js';
import { endSessions, type LeftSegment, takeSegments } from '../../storage/dbos/takeover.js';
import {
  askToStop,
  findWorker,
  heartbeatOf,
  isOwner,
  listWorkerRows,
  type NewWorker,
  registerWorker,
  workerViewOf,
} from '../../storage/queue/workers.js';
import type { EngineContext } from '../engine-context.js';

/** How long a start waits for the lock of a predecessor that was killed: its database session ends within moments. */
const LOCK_WAIT_MS = 3000;
/** The same where another name would do as well. */
const NAME_WAIT_MS = 1000;
const LOCK_RETRY_MS = 100;
const NAMES_PER_HOST = 100;

export interface Worker {
  readonly id: string;
  readonly epoch: number;
  readonly lock: SessionLock;
  /** What a predecessor under this id has left, and is in the queue again. */
  readonly left: readonly LeftSegment[];
}

interface Wanted extends Omit<NewWorker, 'id' | 'session'> {
  /** Null: the host's name, with a number behind it where several processes work on one host. */
  readonly id: string | null;
  readonly workflow: string;
  readonly crashLimit: number;
  /** After so many milliseconds without a heartbeat the session of a worker is ended. */
  readonly stillAfterMs: number;
}

export const lockName = (id: string): string => `holdfast:worker:${id}`;

/**
 * Becomes the one live process of a worker id: takes its lock before anything runs, then raises its epoch, which fences a
 * predecessor that still breathes, and takes its segments. Throws `worker_id_in_use`.
 */
export async function becomeWorker(database: Database, wanted: Wanted): Promise<Worker> {
  const { id, lock } = await takePlace(database, wanted);
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

async function takePlace(database: Database, wanted: Wanted): Promise<{ id: string; lock: SessionLock }> {
  const first = wanted.id ?? (database.kind === 'pglite' ? 'local' : hostname());
  const lock = await waitForLock(database, first, wanted);
  if (typeof lock !== 'string') return { id: first, lock };
  for (let n = 2; wanted.id === null && n <= NAMES_PER_HOST; n++) {
    const id = `${first}-${n}`;
    const other = await database.tryLock(lockName(id));
    if (other !== null) return { id, lock: other };
  }
  throw inUse(first, lock);
}

const inUse = (id: string, why: NotFree): HoldfastError =>
  why === 'alive'
    ? new HoldfastError(
        'worker_id_in_use',
        `Another live process runs as worker ${JSON.stringify(id)} on this database: its heartbeat goes on.`,
      )
    : new HoldfastError(
        'worker_id_in_use',
        `A database session holds the lock of worker ${JSON.stringify(id)}. The worker writes no heartbeat, and the session could not be ended.`,
        {
          hint: 'End the session in PostgreSQL, start again with the role that opened it, or choose another worker id.',
        },
      );

/** Why the lock of a worker is not free: a live process holds it, or a session that this role could not end. */
type NotFree = 'alive' | 'held';

/**
 * Waits while the holder writes no heartbeat, or while there is none: the holder is gone, and PostgreSQL has not noticed.
 * After the bound this process ends the session of the holder, as other workers would do.
 */
async function waitForLock(database: Database, id: string, wanted: Wanted): Promise<SessionLock | NotFree> {
  const began = performance.now();
  const waitsMs = wanted.id === null ? NAME_WAIT_MS : LOCK_WAIT_MS;
  const seen = await heartbeatOf(database.knex, id);
  for (;;) {
    const lock = await database.tryLock(lockName(id));
    if (lock !== null) return lock;
    const waitedMs = performance.now() - began;
    if (waitedMs >= waitsMs) {
      if (wanted.id === null || (await heartbeatOf(database.knex, id)) !== seen) return 'alive';
      if (waitedMs >= wanted.stillAfterMs + LOCK_WAIT_MS) return 'held';
      if (waitedMs >= wanted.stillAfterMs) await database.endHolder(lockName(id)).catch(() => undefined);
    }
    await sleep(LOCK_RETRY_MS);
  }
}

/**
 * Takes the lock again after its connection was lost. As long as no newer process has become this worker, the one that holds the lock is
 * this process's own session, whose lost connection the server has not noticed, or someone who looks: the session is
 * ended, and the lock waited for, for as long as the database needs. No one else can take the place of a worker while the database is
 * away, so that it is waited for, too, without a limit. Resolves null when a newer process has the worker id. Throws the reason of
 * `stopping`, and holds nothing then.
 */
export async function regainLock(
  database: Database,
  { id, epoch }: Pick<Worker, 'id' | 'epoch'>,
  lost: Pick<SessionLock, 'endSession'>,
  stopping: AbortSignal,
): Promise<SessionLock | null> {
  for (;;) {
    stopping.throwIfAborted();
    const lock = await database.tryLock(lockName(id)).catch(() => undefined);
    if (lock !== undefined) {
      const owns = await isOwner(database.knex, id, epoch).catch(() => undefined);
      if (owns === true && lock !== null && !stopping.aborted) return lock;
      await lock?.release();
      if (owns === false) return null;
      // What a role may not end, the server ends when it notices.
      if (owns === true) await lost.endSession().catch(() => undefined);
    }
    await sleep(LOCK_RETRY_MS, undefined, { signal: stopping });
  }
}

export async function listWorkers(context: EngineContext, { limit, cursor }: PageOf): Promise<Page<WorkerView>> {
  const after = cursor === undefined ? {} : { after: cursor };
  const { rows, more } = await listWorkerRows(context.stepContext.knex, { ...after, limit });
  const shown = legibleRows(rows, ({ id }) => id, workerViewOf);
  return { ...shown, nextCursor: more ? (rows.at(-1)?.id ?? null) : null };
}

export async function getWorker(context: EngineContext, id: string): Promise<WorkerView> {
  const worker = await findWorker(context.stepContext.knex, id);
  if (worker === undefined) throw new HoldfastError('worker_unknown', `There is no worker ${JSON.stringify(id)}.`);
  return worker;
}

export async function stopWorker(context: EngineContext, id: string, { mode }: WorkerStop): Promise<WorkerView> {
  await getWorker(context, id);
  await askToStop(context.stepContext.knex, id, mode);
  return getWorker(context, id);
}
