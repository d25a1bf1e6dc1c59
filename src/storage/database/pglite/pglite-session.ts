import { AsyncResource } from 'node:async_hooks';
import type { PGlite } from '@electric-sql/pglite';
import { HoldfastError } from '../../../core/errors/errors.js';
import { type Lease, Mutex } from './pglite-lease.js';
import { type Message, PgliteWire, type Send } from './pglite-wire.js';

/** PostgreSQL's own: no transaction, in one, in a failed one. */
export type TransactionStatus = 'I' | 'T' | 'E';

/** How long statements may follow each other before timers and sockets have their turn, in milliseconds. */
const TURN_MS = 10;

const ROLLBACK: readonly Send[] = [(wire) => wire.query('ROLLBACK')];

const idleError = (): Error =>
  Object.assign(new Error('terminating connection due to idle-in-transaction timeout'), { code: '25P03' });

/**
 * PGlite's only session. A lease gives it to one virtual connection; a transaction that stays idle longer than
 * `idleTimeoutMs` is rolled back, as PostgreSQL would, so that no mistake can block the whole process forever.
 */
export class PgliteSession {
  readonly #wire: PgliteWire;
  readonly #leases = new Mutex();
  readonly #statements = new Mutex();
  readonly #listeners = new Set<(message: Message) => void>();
  readonly #outside = new AsyncResource('holdfast.notification');
  readonly #idleTimeoutMs: number;
  #isAnswering = false;
  #dead: HoldfastError | null = null;
  #turnedAt = 0;

  constructor(db: PGlite, idleTimeoutMs: number) {
    this.#idleTimeoutMs = idleTimeoutMs;
    this.#wire = new PgliteWire(db);
  }

  /** Calls back at once, amid the messages of a statement. */
  onNotification(listener: (message: Message) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  #take(message: Message, emit: (message: Message) => void): void {
    if (message.name !== 'notification') emit(message);
    else for (const listener of [...this.#listeners]) listener(message);
  }

  /** For what a notification leads to: it happens soon, and not in the context of the statement that brought it. */
  outside(work: () => void): void {
    this.#outside.runInAsyncScope(() => setImmediate(work));
  }

  /** Runs one statement when it is the lease's turn; the first one waits for the session. Answers the state after it. */
  async run(lease: Lease, sends: readonly Send[], emit: (message: Message) => void): Promise<TransactionStatus> {
    if (!lease.granted) await this.#grant(lease);
    const status = await this.#exchange(lease, sends, emit);
    if (!lease.ended) this.#watch(lease, status);
    return status;
  }

  async #grant(lease: Lease): Promise<void> {
    await this.#leases.lock();
    lease.granted = true;
    if (lease.ended) this.#leases.unlock();
  }

  #watch(lease: Lease, status: TransactionStatus): void {
    if (status === 'I') this.release(lease);
    else lease.idleTimer = setTimeout(() => void this.abort(lease), this.#idleTimeoutMs).unref();
  }

  /** Gives the session back. Repeating it does nothing. */
  release(lease: Lease): void {
    if (this.#end(lease)) this.#leases.unlock();
  }

  /** Rolls back what is open and gives the session back. Repeating it does nothing. */
  async abort(lease: Lease): Promise<void> {
    if (!this.#end(lease)) return;
    // A dead session has nothing left to roll back.
    await this.#exchange(null, ROLLBACK, () => {}).catch(() => 'I');
    this.#leases.unlock();
  }

  #end(lease: Lease): boolean {
    const wasOpen = lease.granted && !lease.ended;
    lease.ended = true;
    if (lease.idleTimer !== null) clearTimeout(lease.idleTimer);
    return wasOpen;
  }

  /** For answers to the running statement that are no statement of their own. */
  interject(send: Send): void {
    if (this.#isAnswering) send(this.#wire);
  }

  /** PGlite answers without a turn of the event loop: the one that awaits one statement after the other would stop all else. */
  async #letOthers(): Promise<void> {
    if (performance.now() - this.#turnedAt < TURN_MS) return;
    await new Promise((resolve) => setImmediate(resolve));
    this.#turnedAt = performance.now();
  }

  async #exchange(
    lease: Lease | null,
    sends: readonly Send[],
    emit: (message: Message) => void,
  ): Promise<TransactionStatus> {
    await this.#statements.lock();
    try {
      if (lease !== null && lease.idleTimer !== null) clearTimeout(lease.idleTimer);
      await this.#letOthers();
      if (this.#dead !== null) throw this.#dead;
      if (lease?.ended === true) throw idleError();
      this.#wire.gather(sends);
      const status = await this.#answer(emit);
      if (status === 'I') await this.#wire.renewPlans();
      return status;
    } finally {
      this.#statements.unlock();
    }
  }

  /** Sends what was gathered, and whatever its answers lead to, and gives the state behind it. */
  async #answer(emit: (message: Message) => void): Promise<TransactionStatus> {
    let status: unknown = null;
    this.#isAnswering = true;
    try {
      while (status === null && this.#wire.hasGathered) {
        for (const message of await this.#wire.exchange()) {
          if (message.name === 'readyForQuery') status = message.status;
          else this.#take(message, emit);
        }
      }
      if (status === null) throw new Error('it gave no answer');
    } catch (cause) {
      const why = cause instanceof Error ? cause.message : String(cause);
      this.#dead = new HoldfastError('internal', `The embedded database stopped: ${why}`, { cause });
      throw this.#dead;
    } finally {
      this.#isAnswering = false;
    }
    return status === 'T' || status === 'E' ? status : 'I';
  }
}
