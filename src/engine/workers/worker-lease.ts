import { HEARTBEAT_OLD_MS } from '../../core/queue/worker.js';
import { elapsedMs } from '../concurrency/elapsed.js';

/** Less than the time after which others may take a worker over: nobody does while the lease of a heartbeat lasts. */
export const LEASE_MS = 2000;
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

  /** `now` must count on while the process is suspended and while the machine sleeps, and nobody may set it. */
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
