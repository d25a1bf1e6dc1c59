import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chownSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { freePort } from './free-port.js';
import { newMemoryDir } from './memory-dir.js';

/** Where Debian's package `postgresql` puts its programs. */
const PROGRAMS = '/usr/lib/postgresql';
const START_WITHIN_MS = 60_000;

/** A PostgreSQL server of this process alone, which may be restarted. Its data is in memory where there is room. */
export interface OwnPostgres {
  /** Of its database `postgres`. */
  readonly url: string;
  /** Resolves when it answers; does nothing while it runs. */
  start(): Promise<void>;
  /** `fast` ends sessions and writes a checkpoint; `immediate` ends as a crash does, so that the next start recovers. */
  stop(mode: 'fast' | 'immediate'): Promise<void>;
  close(): Promise<void>;
}

const REQUIRED = (process.env['HOLDFAST_TEST_REQUIRE'] ?? '').split(',').includes('postgres');

/** Why a test cannot have a server of its own; null: it can. Throws where PostgreSQL is required. */
export function noOwnPostgres(): string | null {
  if (postgresPrograms() !== null) return null;
  const why = `there is no PostgreSQL in ${PROGRAMS}`;
  if (REQUIRED) throw new Error(`${why}, and HOLDFAST_TEST_REQUIRE names it`);
  return why;
}

/** The directory of PostgreSQL's programs; null: it is not installed. */
function postgresPrograms(): string | null {
  const versions = existsSync(PROGRAMS) ? readdirSync(PROGRAMS).sort((a, b) => Number(a) - Number(b)) : [];
  const dirs = versions.map((version) => join(PROGRAMS, version, 'bin'));
  return dirs.findLast((dir) => existsSync(join(dir, 'initdb'))) ?? null;
}

/** `postgres` refuses to run as root. */
function owner(): { readonly uid: number; readonly gid: number } | null {
  if (process.getuid?.() !== 0) return null;
  const [, uid, gid] = /^postgres:[^:]*:(\d+):(\d+):/m.exec(readFileSync('/etc/passwd', 'utf8')) ?? [];
  return { uid: Number(uid), gid: Number(gid) };
}

/**
 * Makes and starts one, in an empty directory or one of its own. What it has committed survives its crash, not that of the
 * machine.
 */
export async function openOwnPostgres(given: string | null = null): Promise<OwnPostgres> {
  const programs = postgresPrograms();
  if (programs === null) throw new Error(`there is no PostgreSQL in ${PROGRAMS}`);
  const user = owner();
  const dir = given ?? newMemoryDir() ?? mkdtempSync(join(tmpdir(), 'holdfast-test-'));
  if (user !== null) chownSync(dir, user.uid, user.gid);
  const data = join(dir, 'data');
  const options = { cwd: '/', ...user };
  const made = spawnSync(
    join(programs, 'initdb'),
    ['-D', data, '-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '--locale=C.UTF-8', '--no-sync'],
    { ...options, encoding: 'utf8' },
  );
  if (made.status !== 0) throw new Error(`initdb: ${made.stderr}`);
  const port = await freePort();
  const url = `postgres://postgres@127.0.0.1:${port}/postgres`;
  const settings = [
    'listen_addresses=127.0.0.1',
    `port=${port}`,
    'unix_socket_directories=',
    'max_connections=250',
    'fsync=off',
  ];
  const args = ['-D', data, ...settings.flatMap((setting) => ['-c', setting])];
  let server: ChildProcess | null = null;
  let gone: Promise<unknown> = Promise.resolve();
  let said = '';

  const start = async (): Promise<void> => {
    if (server !== null && server.exitCode === null && server.signalCode === null) return;
    server = spawn(join(programs, 'postgres'), args, { ...options, stdio: ['ignore', 'ignore', 'pipe'] });
    server.stderr?.setEncoding('utf8').on('data', (text: string) => {
      said = (said + text).slice(-4000);
    });
    gone = once(server, 'exit');
    for (const until = performance.now() + START_WITHIN_MS; !(await answers(url)); await sleep(50)) {
      if (server.exitCode !== null) throw new Error(`PostgreSQL does not start: ${said}`);
      if (performance.now() > until) throw new Error(`PostgreSQL does not answer: ${said}`);
    }
  };
  const stop: OwnPostgres['stop'] = async (mode) => {
    server?.kill(mode === 'fast' ? 'SIGINT' : 'SIGQUIT');
    await gone;
  };
  const abandon = (): void => void server?.kill('SIGQUIT');
  process.once('exit', abandon);
  await start();
  return {
    ...{ url, start, stop },
    close: async () => {
      process.removeListener('exit', abandon);
      await stop('immediate');
      rmSync(given === null ? dir : data, { recursive: true, force: true });
    },
  };
}

async function answers(url: string): Promise<boolean> {
  const client = new pg.Client({ connectionString: url });
  client.on('error', () => {});
  try {
    await client.connect();
    return true;
  } catch {
    return false;
  } finally {
    await client.end().catch(() => {});
  }
}
