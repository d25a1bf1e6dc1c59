import { AsyncLocalStorage } from 'node:async_hooks';

/** Grants one holder at a time, in the order of asking. */
export class Mutex {
  readonly #waiting: (() => void)[] = [];
  #held = false;

  lock(): Promise<void> {
    if (!this.#held) {
      this.#held = true;
      return Promise.resolve();
    }
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  unlock(): void {
    const next = this.#waiting.shift();
    if (next === undefined) this.#held = false;
    else next();
  }
}

/** Who talks to the embedded database. DBOS may read on a second connection inside its own transaction; no one else may. */
export type DatabaseUser = 'dbos' | 'holdfast';

/** The right of one virtual connection to PGlite's only session, from BEGIN to COMMIT or ROLLBACK or for one statement. */
export class Lease {
  granted = false;
  ended = false;
  /** Set while a COMMIT or ROLLBACK is under way: it ends without help of the async context that sent it. */
  leaving = false;
  idleTimer: NodeJS.Timeout | null = null;
  /** Held by the holder for a statement and by a joined read from its beginning to its end. */
  readonly turn = new Mutex();

  readonly holder: object;
  readonly user: DatabaseUser;

  constructor(holder: object, user: DatabaseUser) {
    this.holder = holder;
    this.user = user;
  }
}

const context = new AsyncLocalStorage<Lease | null>();

/**
 * Begins to follow async contexts. Node does so from the first use on: what had begun before it would be taken for being
 * inside of whatever transaction is open when it goes on.
 */
export const followContexts = (): void => context.run(null, () => {});

/** Marks the caller's own async context as inside a transaction; only works when called synchronously by the caller. */
export const enterTransaction = (lease: Lease): void => context.enterWith(lease);

/** The open transaction that the caller stands in. A context that outlives its transaction, as of a loop, is outside. */
export function transactionHere(): Lease | null {
  const lease = context.getStore();
  return lease === undefined || lease === null || lease.ended || lease.leaving ? null : lease;
}
