import knex from 'knex';
import pg from 'pg';
import type { Database, SessionLock } from './database.js';
import { connectionTo, ensureDatabase } from './postgres-place.js';
import { listenOn, lockOn } from './postgres-session.js';

const OUR_CONNECTIONS_MAX = 10;

/** Connects to PostgreSQL; makes the database when it is missing. Throws `database_unreachable`. */
export async function openPostgres(url: string, poolSize: number): Promise<Database> {
  await ensureDatabase(url);
  const pool = new pg.Pool({ ...connectionTo(url), max: poolSize });
  // An idle connection that breaks is replaced by the pool; without a listener it would end the process.
  pool.on('error', () => {});
  const sql = knex({ client: 'pg', connection: connectionTo(url), pool: { min: 0, max: OUR_CONNECTIONS_MAX } });
  const locks = new Set<SessionLock>();
  const unlisten = new Set<() => Promise<void>>();
  let closing: Promise<void> | null = null;
  const close = async (): Promise<void> => {
    await Promise.all([...[...unlisten].map((stop) => stop()), ...[...locks].map((lock) => lock.release())]);
    await Promise.all([sql.destroy(), pool.end()]);
  };
  return {
    kind: 'postgres',
    knex: sql,
    pool,
    url,
    async listen(channel, onPayload) {
      const stop = await listenOn(url, channel, onPayload);
      unlisten.add(stop);
      return stop;
    },
    async tryLock(name) {
      const lock = await lockOn(url, name);
      if (lock !== null) locks.add(lock);
      return lock;
    },
    close() {
      closing ??= close();
      return closing;
    },
  };
}
