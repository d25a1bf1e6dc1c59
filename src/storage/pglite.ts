import { existsSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { PGlite } from '@electric-sql/pglite';
import knex from 'knex';
import { HoldfastError } from '../core/errors.js';
import { lockDataDir } from './data-dir-lock.js';
import type { Database, SessionLock } from './database.js';
import { PglitePool } from './pglite-pool.js';
import { PgliteSession } from './pglite-session.js';

const IDLE_IN_TRANSACTION_TIMEOUT_MS = 60_000;

/** Opens the embedded database in `dataDir/pg`. It never calls fsync: safe against a killed process, not a power cut. */
export async function openPglite(
  dataDir: string,
  idleTimeoutMs: number = IDLE_IN_TRANSACTION_TIMEOUT_MS,
): Promise<Database> {
  const dirLock = lockDataDir(dataDir);
  try {
    const db = await create(dataDir);
    return assemble(db, new PgliteSession(db, idleTimeoutMs), dirLock.release);
  } catch (error) {
    dirLock.release();
    throw error;
  }
}

async function create(dataDir: string): Promise<PGlite> {
  const path = join(dataDir, 'pg');
  const mark = join(dataDir, 'pg-is-being-made');
  // A first start that was killed left half a database, which nobody has used yet.
  if (existsSync(mark)) rmSync(path, { recursive: true, force: true });
  const isNew = !existsSync(path);
  if (isNew) writeFileSync(mark, '', { mode: 0o600 });
  try {
    const db = await PGlite.create(path);
    await db.query('SELECT count(*) FROM pg_class');
    if (isNew) rmSync(mark);
    return db;
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new HoldfastError('database_corrupt', `The embedded database in ${path} cannot be opened: ${why}`, { cause });
  }
}

function assemble(db: PGlite, session: PgliteSession, unlockDir: () => void): Database {
  const pool = new PglitePool(session, 'dbos');
  const ours = new PglitePool(session, 'holdfast');
  const sql = knex({ client: 'pg', version: '17', connectionPool: ours });
  const locks = new Set<string>();
  let closing: Promise<void> | null = null;
  const close = async (): Promise<void> => {
    await sql.destroy();
    await Promise.all([pool.end(), ours.end()]);
    await db.close();
    unlockDir();
  };
  return {
    kind: 'pglite',
    knex: sql,
    pool,
    url: 'postgresql://postgres@127.0.0.1:5432/postgres',
    async listen(channel, onPayload) {
      const client = await ours.connect();
      client.on('notification', (message) => onPayload(message.payload ?? ''));
      await client.query(`LISTEN ${client.escapeIdentifier(channel)}`);
      return async () => client.release(true);
    },
    // One process owns the data directory, so that its own list is the truth.
    async tryLock(name): Promise<SessionLock | null> {
      if (locks.has(name)) return null;
      locks.add(name);
      return { name, onLost() {}, release: async () => void locks.delete(name) };
    },
    close() {
      closing ??= close();
      return closing;
    },
  };
}
