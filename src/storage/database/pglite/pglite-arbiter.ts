import { HoldfastError } from '../../../core/errors/errors.js';
import { type DatabaseUser, enterTransaction, Lease, transactionHere } from './pglite-lease.js';
import type { PgliteSession, TransactionStatus } from './pglite-session.js';
import type { Message, Send } from './pglite-wire.js';
import { beginsReadOnly, beginsTransaction, endsTransaction, onlyReads } from './pglite-wire.js';

export interface Statement {
  readonly text: string;
  readonly sends: readonly Send[];
}

type Emit = (message: Message) => void;

const SAVE: readonly Send[] = [(wire) => wire.query('SAVEPOINT holdfast_join')];
const RESTORE: readonly Send[] = [
  (wire) => wire.query('ROLLBACK TO SAVEPOINT holdfast_join; RELEASE SAVEPOINT holdfast_join'),
];
const silent: Emit = () => {};

const nestedError = (text: string): HoldfastError =>
  new HoldfastError(
    'internal',
    `A second connection was used inside an open transaction. The embedded database has one session, so it would wait for itself: ${text.trim().slice(0, 120)}`,
    { hint: 'Send the statement through the transaction (trx) that is open.' },
  );

/** Decides for one virtual connection when its statements run, and refuses those that would wait for themselves. */
export class PgliteArbiter {
  readonly #session: PgliteSession;
  readonly #user: DatabaseUser;
  #lease: Lease | null = null;
  #joined: Lease | null = null;

  constructor(session: PgliteSession, user: DatabaseUser) {
    this.#session = session;
    this.#user = user;
  }

  /** Must be called synchronously by the code that sends the statement: the caller's async context says where it stands. */
  submit(statement: Statement, emit: Emit): Promise<TransactionStatus> {
    if (this.#joined !== null) return this.#goOnJoined(this.#joined, statement, emit);
    const here = transactionHere();
    if (here !== null && here.holder !== this) return this.#second(here, statement, emit);
    const lease = this.#lease ?? new Lease(this, this.#user);
    if (this.#lease === null && beginsTransaction(statement.text)) enterTransaction(lease);
    this.#lease = lease;
    lease.leaving = endsTransaction(statement.text);
    return this.#run(lease, statement, emit);
  }

  async #run(lease: Lease, statement: Statement, emit: Emit): Promise<TransactionStatus> {
    await lease.turn.lock();
    try {
      const status = await this.#session.run(lease, statement.sends, emit);
      lease.leaving = false;
      return status;
    } catch (error) {
      this.#session.release(lease);
      throw error;
    } finally {
      if (lease.ended && this.#lease === lease) this.#lease = null;
      lease.turn.unlock();
    }
  }

  async #second(here: Lease, statement: Statement, emit: Emit): Promise<TransactionStatus> {
    const stays = beginsReadOnly(statement.text);
    if (here.user !== 'dbos' || this.#user !== 'dbos' || !(stays || onlyReads(statement.text))) {
      throw nestedError(statement.text);
    }
    await here.turn.lock();
    this.#joined = here;
    try {
      if (stays) return await this.#session.run(here, SAVE, emit);
      await this.#session.run(here, SAVE, silent);
      await this.#session.run(here, statement.sends, emit);
      await this.#session.run(here, RESTORE, silent);
      return 'I';
    } finally {
      if (!stays) this.#leave(here);
    }
  }

  /** A joined read ends by going back to where it began, so that it leaves neither settings nor errors behind. */
  async #goOnJoined(here: Lease, statement: Statement, emit: Emit): Promise<TransactionStatus> {
    if (!endsTransaction(statement.text)) return this.#session.run(here, statement.sends, emit);
    try {
      await this.#session.run(here, RESTORE, emit);
      return 'I';
    } finally {
      this.#leave(here);
    }
  }

  #leave(here: Lease): void {
    if (this.#joined !== here) return;
    this.#joined = null;
    here.turn.unlock();
  }

  /** Rolls back what is open: the connection is given back. */
  async abandon(): Promise<void> {
    const lease = this.#lease;
    const joined = this.#joined;
    this.#lease = null;
    if (lease !== null) await this.#session.abort(lease);
    if (joined === null) return;
    await this.#session.run(joined, RESTORE, silent).catch(() => 'I');
    this.#leave(joined);
  }
}
