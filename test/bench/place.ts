import { randomBytes } from 'node:crypto';
import { cpSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { openDatabase } from '../../src/storage/database/open-database.js';

export type DatabaseKind = 'postgres' | 'pglite';

/** Where a process finds its database. `databaseUrl` null: PGlite in `dataDir`. */
export interface Place {
  readonly databaseUrl: string | null;
  readonly dataDir: string;
}

const SERVER = process.env['DATABASE_URL'] ?? process.env['HOLDFAST_TEST_POSTGRES_URL'];

export const hasPostgres = (): boolean => SERVER !== undefined;

const open: (() => Promise<void>)[] = [];
let emptyPglite: Promise<string> | undefined;

/** A fresh database, which `dropPlaces` removes. */
export async function newPlace(kind: DatabaseKind): Promise<Place> {
  const dataDir = await mkdtemp(join(tmpdir(), 'holdfast-bench-'));
  open.push(() => rm(dataDir, { recursive: true, force: true }));
  if (kind === 'pglite') {
    // PGlite takes seconds to make one.
    emptyPglite ??= makePglite();
    cpSync(await emptyPglite, dataDir, { recursive: true });
    return { databaseUrl: null, dataDir };
  }
  const name = `holdfast_bench_${randomBytes(6).toString('hex')}`;
  await onServer(`create database ${name}`);
  open.push(async () => void (await onServer(`drop database if exists ${name} with (force)`)));
  return { databaseUrl: Object.assign(new URL(SERVER ?? ''), { pathname: `/${name}` }).href, dataDir };
}

async function makePglite(): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), 'holdfast-bench-pglite-'));
  kept.push(() => rm(dir, { recursive: true, force: true }));
  const database = await openDatabase({ databaseUrl: null, dataDir: dir });
  await database.close();
  return dir;
}

const kept: (() => Promise<void>)[] = [];

export async function dropPlaces(): Promise<void> {
  for (const drop of open.splice(0)) await drop();
}

export async function dropAll(): Promise<void> {
  await dropPlaces();
  for (const drop of kept.splice(0)) await drop();
}

/** Runs a statement on the server, outside of any measured database. */
export const onServer = (sql: string, values: readonly unknown[] = []) => query(SERVER ?? '', sql, values);

/** Runs a statement on a connection of its own. */
export async function query(
  url: string,
  sql: string,
  values: readonly unknown[] = [],
): Promise<readonly Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    const result = await client.query(sql, [...values]);
    return result.rows ?? [];
  } finally {
    await client.end();
  }
}

/** Bytes of a database with its indexes, when nothing dead is left in it. */
export async function databaseBytes(url: string): Promise<number> {
  await query(url, 'vacuum full');
  const [row] = await query(url, 'select pg_database_size(current_database())::float8 as bytes');
  return Number(row?.['bytes']);
}

/** Begins a transaction with a statement, and keeps it open: what it locks is held until `release`. */
export async function holding(url: string, sql: string): Promise<{ readonly release: () => Promise<void> }> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query('begin');
  await client.query(sql);
  return { release: () => client.end() };
}
