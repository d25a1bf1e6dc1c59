import knex, { type Knex } from 'knex';
import type { Pool } from 'pg';
import { HoldfastError } from '../../core/errors/errors.js';

/** A lock of this process's session; it goes with the session, however that ends. */
export interface SessionLock {
  readonly name: string;
  /** Called once when the lock is lost without `release`. Called at once when that has happened already. */
  onLost(listener: () => void): void;
  /**
   * Ends, at the server, the session that holds it or held it, where the server does not know yet that its connection is gone. The role
   * that opened a session may end it.
   */
  endSession(): Promise<void>;
  release(): Promise<void>;
}

/** A connection for statements that no other work of the process may keep waiting. Values are `$1`, `$2` and so on. */
export interface OwnConnection {
  /** Throws what the driver throws, and after three seconds without an answer. The next statement has a new connection then. */
  query<Row>(text: string, values: readonly unknown[]): Promise<readonly Row[]>;
  close(): Promise<void>;
}

export interface Database {
  readonly kind: 'pglite' | 'postgres';
  /** int8 comes as text; statements name their schema. */
  readonly knex: Knex;
  /** For DBOS. */
  readonly pool: Pool;
  /** Names the connections of this process that may hold row locks; null: there are no others. */
  readonly session: string | null;
  /** For DBOS, which parses it. */
  readonly url: string;
  /** Calls back with the payload of each notification; goes on listening after a lost connection. Resolves to the way out. */
  listen(channel: string, onPayload: (payload: string) => void): Promise<() => Promise<void>>;
  /** The embedded database has one session, which all share. `close` of the database closes it, too. */
  ownConnection(): OwnConnection;
  /** Null when another live session holds it. */
  tryLock(name: string): Promise<SessionLock | null>;
  /** Ends the session of the one that holds it. The embedded database has no other session. */
  endHolder(name: string): Promise<void>;
  /** Repeating it does nothing. */
  close(): Promise<void>;
}

export interface DatabaseOptions {
  /** Null: the embedded database in `dataDir`. */
  readonly databaseUrl: string | null;
  readonly dataDir: string;
  /** Connections of DBOS's pool; the embedded database has none. */
  readonly poolSize?: number;
}

/** What knex would print, it also throws. */
export const silentLog: Knex.Logger = { warn() {}, error() {}, debug() {} };

const refuse = async (): Promise<never> => {
  throw new HoldfastError('internal', 'What is executed here reads and writes no database.');
};

/** A knex that reaches nothing: every statement is refused. For what must have no effect, whatever it executes. */
export const noDatabase = (): Knex =>
  knex({ client: 'pg', connection: refuse, pool: { min: 0, max: 1 }, log: silentLog });
