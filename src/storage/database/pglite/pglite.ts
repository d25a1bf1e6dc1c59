import type { PGlite } from '@electric-sql/pglite';
import knex, { type Knex } from 'knex';
import type { Pool } from 'pg';
import { lockDataDir } from '../data-dir/data-dir-lock.js';
import { type Database, type OwnConnection, type SessionLock, silentLog } from '../database.js';
import { END_WITHIN_MS, within } from '../timing.js';
import { PglitePool } from './pglite-connection.js';
import { openFiles } from './pglite-files.js';
import { followContexts } from './pglite-lease.js';
import { PgliteSession } from './pglite-session.js';

const IDLE_IN_TRANSACTION_TIMEOUT_MS = 60_000;

/**
 * Opens the embedded database in `dataDir`, as its only owner. It never calls fsync: it survives a killed process, not a
 * power cut. Throws `data_dir_in_use` and `database_corrupt`.
 */
export async function openPglite(
  dataDir: string,
  idleInTransactionTimeoutMs: number = IDLE_IN_TRANSACTION_TIMEOUT_MS,
): Promise<Database> {
  followContexts();
  const lock = lockDataDir(dataDir);
  try {
    const db = await openFiles(dataDir);
    return new PgliteDatabase(db, new PgliteSession(db, idleInTransactionTimeoutMs), () => lock.release());
  } catch (error) {
    lock.release();
    throw error;
  }
}

class PgliteDatabase implements Database {
  readonly kind = 'pglite';
  readonly session = null;
  readonly url = 'postgresql://postgres@127.0.0.1:5432/postgres';
  readonly pool: Pool;
  readonly knex: Knex;
  readonly #db: PGlite;
  readonly #ours: Pool;
  readonly #unlockDir: () => void;
  /** One process owns the data directory, so that its own list of locks is the truth. */
  readonly #locks = new Set<string>();
  #closing: Promise<void> | null = null;

  constructor(db: PGlite, session: PgliteSession, unlockDir: () => void) {
    this.#db = db;
    this.#unlockDir = unlockDir;
    this.pool = new PglitePool(session, 'dbos');
    this.#ours = new PglitePool(session, 'holdfast');
    this.knex = knex({ client: 'pg', connectionPool: this.#ours, log: silentLog });
  }

  async listen(channel: string, onPayload: (payload: string) => void): Promise<() => Promise<void>> {
    const client = await this.#ours.connect();
    client.on('notification', (message) => onPayload(message.payload ?? ''));
    await client.query(`LISTEN ${client.escapeIdentifier(channel)}`);
    let listening = true;
    return async () => {
      if (listening) client.release(true);
      listening = false;
    };
  }

  ownConnection(): OwnConnection {
    return {
      query: async (text, values) => (await this.#ours.query(text, [...values])).rows,
      close: async () => {},
    };
  }

  async tryLock(name: string): Promise<SessionLock | null> {
    if (this.#locks.has(name)) return null;
    this.#locks.add(name);
    let held = true;
    const release = async (): Promise<void> => {
      if (held) this.#locks.delete(name);
      held = false;
    };
    return { name, onLost() {}, endSession: async () => {}, release };
  }

  async endHolder(): Promise<void> {}

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  /** A client that no one gives back does not keep the process from stopping. */
  async #close(): Promise<void> {
    await this.knex.destroy();
    await within(END_WITHIN_MS, Promise.all([this.pool.end(), this.#ours.end()]));
    await this.#db.close();
    this.#unlockDir();
  }
}
