import { randomBytes } from 'node:crypto';
import knex, { type Knex } from 'knex';
import pg from 'pg';
import { type Database, type OwnConnection, type SessionLock, silentLog } from '../database.js';
import { SilentConnections } from '../silent-connections.js';
import { END_WITHIN_MS, within } from '../timing.js';
import { listenOn, PostgresOwnConnection } from './postgres-connections.js';
import { endHolderOf, lockOn } from './postgres-lock.js';
import { connectionTo, ensureDatabase } from './postgres-place.js';

const OUR_CONNECTIONS_MAX = 10;
/**
 * A transaction that its process forgot must not hold its row locks forever. Statements here are short and many: compiling one takes
 * PostgreSQL up to half a second of its processor, and each connection compiles for itself.
 */
const SETTINGS = 'SET idle_in_transaction_session_timeout = 60000; SET jit = off';

/** Connects to PostgreSQL, and makes the database when it is missing. Throws `database_unreachable`. */
export async function openPostgres(url: string, poolSize: number): Promise<Database> {
  await ensureDatabase(url);
  return new PostgresDatabase(url, poolSize);
}

class PostgresDatabase implements Database {
  readonly kind = 'postgres';
  readonly url: string;
  readonly session = `holdfast:${randomBytes(8).toString('hex')}`;
  readonly pool: pg.Pool;
  readonly knex: Knex;
  readonly #stops = new Set<() => Promise<void>>();
  #closing: Promise<void> | null = null;

  constructor(url: string, poolSize: number) {
    this.url = url;
    const onConnect = (client: pg.ClientBase) => client.query(SETTINGS);
    const connection = { ...connectionTo(url), application_name: this.session };
    const { Client } = new SilentConnections(url, this.session);
    this.pool = new pg.Pool({ ...connection, max: poolSize, onConnect, Client });
    // A connection that breaks is replaced by the pool and fails its statement; without listeners it would end the process.
    this.pool.on('error', () => {});
    this.pool.on('connect', (client) => client.on('error', () => {}));
    // Statements that do not wait for each other's answers leave together.
    const pipelined = { ...connection, pipeline: true };
    this.knex = knex({
      client: 'pg',
      connection: pipelined,
      pool: {
        min: 0,
        max: OUR_CONNECTIONS_MAX,
        afterCreate: (client: pg.Client, done: (error: Error | null) => void) => client.query(SETTINGS, done),
      },
      log: silentLog,
    });
    // The driver of knex's dialect, which makes its connections.
    Object.assign(this.knex.client, { driver: { ...pg, Client } });
  }

  async listen(channel: string, onPayload: (payload: string) => void): Promise<() => Promise<void>> {
    return this.#stopping(await listenOn(this.url, channel, onPayload));
  }

  ownConnection(): OwnConnection {
    const own = new PostgresOwnConnection(this.url, this.session);
    const close = this.#stopping(() => own.close());
    return { query: (text, values) => own.query(text, values), close };
  }

  async tryLock(name: string): Promise<SessionLock | null> {
    const lock = await lockOn(this.url, name);
    if (lock === null) return null;
    const release = this.#stopping(() => lock.release());
    return {
      name,
      onLost: (listener) => lock.onLost(listener),
      endSession: () => lock.endSession(),
      release,
    };
  }

  endHolder(name: string): Promise<void> {
    return endHolderOf(this.url, name);
  }

  /** `close` does what was not done before. */
  #stopping(stop: () => Promise<void>): () => Promise<void> {
    this.#stops.add(stop);
    return async () => {
      this.#stops.delete(stop);
      await stop();
    };
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  /** A client that no one gives back does not keep the process from stopping. */
  async #close(): Promise<void> {
    await Promise.all([...this.#stops].map((stop) => stop()));
    await Promise.all([this.knex.destroy(), within(END_WITHIN_MS, this.pool.end())]);
  }
}
