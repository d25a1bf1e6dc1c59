import { HoldfastError } from '../../core/errors/errors.js';
import type { EngineLog } from '../../core/ops/log-record.js';
import { HEARTBEAT_OLD_MS } from '../../core/queue/worker.js';
import type { Database, SessionLock } from '../../storage/database/database.js';
import { END_WITHIN_MS, within } from '../../storage/database/timing.js';
import { elapsedMs } from '../concurrency/repeated-work.js';
import type { ProcessGate } from './step-gate.js';
import { regainLock, type Worker } from './worker.js';

/** Less than the time after which others may take a worker over: no one does while the lease of a heartbeat lasts. */
export const LEASE_MS = 2000;
/** For how long what a run's own statement proved counts. */
export const PROOF_MS = 1000;
/** A database whose answers are that late lets no heartbeat through either. */
const QUESTIONS_MAX = 10;

/**
 * Tells whether this process still owns its worker id. Each heartbeat gives a lease, so that a step costs no question. A process that
 * was suspended finds its lease over when it wakes, and asks the database before it does anything.
 */
export class WorkerLease {
  readonly #isOwner: () => Promise<boolean>;
  readonly #now: () => number;
  #until = Number.NEGATIVE_INFINITY;

  /** `now` must count on while the process is suspended and while the machine sleeps, and no one may set it. */
  constructor(isOwner: () => Promise<boolean>, now = elapsedMs) {
    this.#isOwner = isOwner;
    this.#now = now;
  }

  /** Extends the lease. `askedAt` is the time before the heartbeat was sent: the database wrote it later. */
  renew(askedAt: number): void {
    this.#until = askedAt + LEASE_MS;
  }

  /** Answers without a question as long as the lease lasts. */
  async isHeld(): Promise<boolean> {
    return this.#now() < this.#until || this.confirm();
  }

  /**
   * Whether a run needs no question: a statement that only its owner can write was sent at `provenAt`, a moment ago, and was written.
   * The lease of the worker must last, too.
   */
  covers(provenAt: number): boolean {
    const now = this.#now();
    return now < this.#until && now - provenAt < PROOF_MS;
  }

  /** Asks the database, again where the answer is so old that others may have taken the worker over since. */
  async confirm(): Promise<boolean> {
    for (let n = 0; n < QUESTIONS_MAX; n++) {
      const askedAt = this.#now();
      if (!(await this.#isOwner())) return false;
      if (this.#now() - askedAt < HEARTBEAT_OLD_MS) return true;
    }
    return false;
  }
}

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
