import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { describe } from 'vitest';
import type { DatabaseOptions } from '../../src/storage/database.js';

export type DatabaseKind = 'pglite' | 'postgres';

const SERVER = process.env['HOLDFAST_TEST_POSTGRES_URL'];
const REQUIRED = (process.env['HOLDFAST_TEST_REQUIRE'] ?? '').split(',').includes('postgres');
const WHY_NOT = 'HOLDFAST_TEST_POSTGRES_URL is not set: no PostgreSQL to test on';

/** Runs a suite on PGlite and on PostgreSQL. What the machine lacks is skipped with the reason, or fails where required. */
export function describeEachDatabase(name: string, suite: (kind: DatabaseKind) => void): void {
  describe(`${name} on pglite`, () => suite('pglite'));
  if (SERVER !== undefined) describe(`${name} on postgres`, () => suite('postgres'));
  else if (REQUIRED) throw new Error(`${WHY_NOT}, and HOLDFAST_TEST_REQUIRE names it`);
  else describe.skip(`${name} on postgres (${WHY_NOT})`, () => suite('postgres'));
}

export interface TestDatabase {
  readonly options: DatabaseOptions;
  drop(): Promise<void>;
}

/** A fresh database of a kind, and a data directory of its own. */
export async function createTestDatabase(kind: DatabaseKind): Promise<TestDatabase> {
  const dataDir = await mkdtemp(join(tmpdir(), 'holdfast-test-'));
  const removeDir = () => rm(dataDir, { recursive: true, force: true });
  if (kind === 'pglite') return { options: { databaseUrl: null, dataDir }, drop: removeDir };
  const name = `holdfast_test_${randomBytes(6).toString('hex')}`;
  await onServer(`create database ${name}`);
  const databaseUrl = Object.assign(new URL(SERVER ?? ''), { pathname: `/${name}` }).href;
  return {
    options: { databaseUrl, dataDir },
    drop: async () => {
      await onServer(`drop database if exists ${name} with (force)`);
      await removeDir();
    },
  };
}

async function onServer(sql: string): Promise<void> {
  const client = new pg.Client({ connectionString: SERVER });
  await client.connect();
  try {
    await client.query(sql);
  } finally {
    await client.end();
  }
}
