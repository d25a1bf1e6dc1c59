import { randomBytes } from 'node:crypto';
import { cpSync, existsSync, readFileSync } from 'node:fs';
import { mkdtemp, rename, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import pg from 'pg';
import { describe } from 'vitest';
import type { DatabaseOptions } from '../../src/storage/database/database.js';
import { openDatabase } from '../../src/storage/database/open-database.js';
import { SLOW } from './slow.js';

export type DatabaseKind = 'pglite' | 'postgres';

const SERVER = process.env['HOLDFAST_TEST_POSTGRES_URL'];
const TEMPLATE_DIR = process.env['HOLDFAST_TEST_TEMPLATE_DIR'] ?? '';
const REQUIRED = (process.env['HOLDFAST_TEST_REQUIRE'] ?? '').split(',').includes('postgres');
const WHY_NOT = 'HOLDFAST_TEST_POSTGRES_URL is not set: no PostgreSQL to test on (.ci/postgres starts one)';

/** Runs a suite on PostgreSQL. A machine without one skips it with the reason, or fails where it is required. */
export function describePostgres(name: string, suite: () => void): void {
  if (SERVER !== undefined) describe(`${name} on postgres`, suite);
  else if (REQUIRED) throw new Error(`${WHY_NOT}, and HOLDFAST_TEST_REQUIRE names it`);
  else describe.skip(`${name} on postgres (${WHY_NOT})`, suite);
}

/** The same for a suite that takes long: HOLDFAST_TEST_SLOW=1 runs it, as CI does. */
export function describePostgresSlowly(name: string, suite: () => void): void {
  if (SLOW) describePostgres(name, suite);
  else describe.skip(`${name} (slow: HOLDFAST_TEST_SLOW=1 runs it)`, suite);
}

/** HOLDFAST_TEST_REST=1: what a machine without PostgreSQL runs has run already, and is left out, as CI does the second time. */
const IS_REST = process.env['HOLDFAST_TEST_REST'] === '1';

/** Runs a suite on PGlite and on PostgreSQL. */
export function describeEachDatabase(name: string, suite: (kind: DatabaseKind) => void): void {
  if (!IS_REST) describe(`${name} on pglite`, () => suite('pglite'));
  describePostgres(name, () => suite('postgres'));
}

/** Of so many durable statements one is tried; beyond this, each slow suite runs on one database. */
export const FEW_STRIDE = 256;

const IS_FEW = Number(process.env['HOLDFAST_CRASH_STRIDE'] ?? 0) >= FEW_STRIDE && SERVER !== undefined;

/** The same for a suite that takes long: HOLDFAST_TEST_SLOW=1 runs it, as CI does. */
export function describeBothDatabasesSlowly(name: string, suite: (kind: DatabaseKind) => void): void {
  if (SLOW) describe(`${name} on pglite`, () => suite('pglite'));
  else describe.skip(`${name} (slow: HOLDFAST_TEST_SLOW=1 runs it)`, () => suite('pglite'));
  if (SLOW) describePostgres(name, () => suite('postgres'));
}

/**
 * The same for a suite that takes long: HOLDFAST_TEST_SLOW=1 runs it, as CI does. Where few instants of the crash matrix are taken it
 * runs on PostgreSQL alone.
 */
export function describeEachDatabaseSlowly(name: string, suite: (kind: DatabaseKind) => void): void {
  if (!SLOW) {
    describe.skip(`${name} (slow: HOLDFAST_TEST_SLOW=1 runs it)`, () => suite('pglite'));
    return;
  }
  if (IS_FEW)
    describe.skip(`${name} on pglite (HOLDFAST_CRASH_STRIDE below ${FEW_STRIDE} runs it)`, () => suite('pglite'));
  else describe(`${name} on pglite`, () => suite('pglite'));
  describePostgres(name, () => suite('postgres'));
}

export interface TestDatabase {
  readonly options: DatabaseOptions;
  drop(): Promise<void>;
}

export const newDir = (): Promise<string> => mkdtemp(join(tmpdir(), 'holdfast-test-'));

/** A fresh database of a kind, and a data directory of its own. */
export async function createTestDatabase(kind: DatabaseKind): Promise<TestDatabase> {
  const dataDir = await newDir();
  const removeDir = () => rm(dataDir, { recursive: true, force: true });
  if (kind === 'pglite') {
    cpSync(await emptyPglite(), dataDir, { recursive: true });
    return { options: { databaseUrl: null, dataDir }, drop: removeDir };
  }
  const name = `holdfast_test_${randomBytes(6).toString('hex')}`;
  await onServer(`create database ${name}`);
  return {
    options: { databaseUrl: testDatabaseUrl(name), dataDir },
    drop: async () => {
      await onServer(`drop database if exists ${name} with (force)`);
      await removeDir();
    },
  };
}

/** A database of a kind on which an engine was started before, so that a start is as fast as a restart. */
export async function createEngineDatabase(kind: DatabaseKind): Promise<TestDatabase> {
  const dataDir = await newDir();
  const removeDir = () => rm(dataDir, { recursive: true, force: true });
  if (kind === 'pglite') {
    cpSync(TEMPLATE_DIR, dataDir, { recursive: true });
    return { options: { databaseUrl: null, dataDir }, drop: removeDir };
  }
  const name = `holdfast_test_${randomBytes(6).toString('hex')}`;
  await onServer(`create database ${name} template ${process.env['HOLDFAST_TEST_TEMPLATE_DB']}`);
  return {
    options: { databaseUrl: testDatabaseUrl(name), dataDir },
    drop: async () => {
      await onServer(`drop database if exists ${name} with (force)`);
      await removeDir();
    },
  };
}

export const testDatabaseUrl = (name: string): string =>
  Object.assign(new URL(SERVER ?? ''), { pathname: `/${name}` }).href;

/** Runs a statement on the test server, outside of any test database. */
export async function onServer(sql: string): Promise<void> {
  const client = new pg.Client({ connectionString: SERVER });
  await client.connect();
  try {
    await client.query(sql);
  } finally {
    await client.end();
  }
}

/** A data directory with an empty database. PGlite takes seconds to make one, so it is made once per version and copied. */
async function emptyPglite(): Promise<string> {
  const { version }: { version: string } = JSON.parse(
    readFileSync('node_modules/@electric-sql/pglite/package.json', 'utf8'),
  );
  const shared = join(dirname(TEMPLATE_DIR), `holdfast-test-pglite-${version}`);
  if (existsSync(shared)) return shared;
  const made = await mkdtemp(`${shared}-`);
  const database = await openDatabase({ databaseUrl: null, dataDir: made });
  await database.close();
  try {
    await rename(made, shared);
  } catch {
    // Another test process was faster.
    await rm(made, { recursive: true, force: true });
  }
  return shared;
}
