import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { buildConsole } from '../../scripts/console/build.js';
import { buildLibrary } from '../../scripts/library/build.js';
import { bundleAllPrograms } from './bundle-programs.js';
import { memoryDir, removeMemoryDirs } from './memory-dir.js';

/**
 * Builds once, so that tests that start real processes never run old code, and makes the databases that tests copy: an
 * engine was started on them before. Types are checked by `npm run types`; code is built even where they do not hold yet.
 */
export async function setup(): Promise<void> {
  const { error } = spawnSync(process.execPath, ['node_modules/typescript/bin/tsc', '-p', 'tsconfig.test.json']);
  if (error !== undefined) throw error;
  await Promise.all([bundleAllPrograms(), buildConsole(), buildLibrary()]);
  const version = templateVersion();
  process.env['HOLDFAST_TEST_TEMPLATE_DIR'] = pgliteTemplate(version);
  const server = process.env['HOLDFAST_TEST_POSTGRES_URL'];
  if (server !== undefined) process.env['HOLDFAST_TEST_TEMPLATE_DB'] = await postgresTemplate(server, version);
  // What tests make from here on is made there; the templates stay for the next time.
  const memory = process.env['TMPDIR'] === undefined ? memoryDir() : null;
  if (memory !== null) process.env['TMPDIR'] = memory;
}

export const teardown = removeMemoryDirs;

/** Changes when a first start would leave something else. */
function templateVersion(): string {
  const hash = createHash('sha256');
  for (const name of readdirSync('migrations', { recursive: true, encoding: 'utf8' }).sort())
    if (name.endsWith('.ts')) hash.update(readFileSync(join('migrations', name)));
  hash.update(readFileSync('test/harness/first-engine.ts'));
  for (const name of ['@electric-sql/pglite', '@dbos-inc/dbos-sdk'])
    hash.update(readFileSync(join('node_modules', name, 'package.json')));
  return hash.digest('hex').slice(0, 16);
}

function firstStart(env: Readonly<Record<string, string>>): void {
  const { DATABASE_URL: _url, HOLDFAST_DATA_DIR: _dir, ...inherited } = process.env;
  const ended = spawnSync(process.execPath, ['dist/test/harness/first-engine.js'], {
    env: { ...inherited, ...env },
    encoding: 'utf8',
  });
  if (ended.status !== 0) throw new Error(`no engine could be started for the tests: ${ended.stderr}`);
}

function pgliteTemplate(version: string): string {
  const shared = join(tmpdir(), `holdfast-test-engine-${version}`);
  if (existsSync(shared)) return shared;
  const made = mkdtempSync(join(tmpdir(), 'holdfast-test-'));
  firstStart({ HOLDFAST_DATA_DIR: made });
  try {
    renameSync(made, shared);
  } catch {
    // Another run of tests was faster.
    rmSync(made, { recursive: true, force: true });
  }
  return shared;
}

async function postgresTemplate(server: string, version: string): Promise<string> {
  const name = `holdfast_test_engine_${version}`;
  const client = new pg.Client({ connectionString: server });
  await client.connect();
  try {
    const { rowCount } = await client.query('select 1 from pg_database where datname = $1', [name]);
    if (rowCount === 0) {
      const making = `${name}_${process.pid}`;
      firstStart({ DATABASE_URL: Object.assign(new URL(server), { pathname: `/${making}` }).href });
      await client.query(`alter database ${making} rename to ${name}`);
    }
    return name;
  } finally {
    await client.end();
  }
}
