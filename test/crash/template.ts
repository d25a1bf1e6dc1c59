import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import type { DatabaseKind } from '../harness/database.js';

/** A database that holds one started run, and copies of it: every crash begins from the same run under the same key. */
export interface Template {
  readonly env: Readonly<Record<string, string>>;
  /** A copy, as the settings that a child process takes. */
  copy(name: string): Promise<{ readonly env: Readonly<Record<string, string>>; readonly drop: () => Promise<void> }>;
  drop(): Promise<void>;
}

/** Of a kind of database. */
export const templateOf = (kind: DatabaseKind): Promise<Template> =>
  kind === 'pglite' ? pgliteTemplate() : postgresTemplate(process.env['HOLDFAST_TEST_POSTGRES_URL'] ?? '');

async function pgliteTemplate(): Promise<Template> {
  const dir = await mkdtemp(join(tmpdir(), 'holdfast-crash-'));
  const envOf = (name: string) => ({ HOLDFAST_DATA_DIR: join(dir, name) });
  await cp(process.env['HOLDFAST_TEST_TEMPLATE_DIR'] ?? '', join(dir, 'template'), { recursive: true });
  return {
    env: envOf('template'),
    copy: async (name) => {
      const env = envOf(name);
      await cp(join(dir, 'template'), env.HOLDFAST_DATA_DIR, { recursive: true });
      return { env, drop: () => rm(env.HOLDFAST_DATA_DIR, { recursive: true, force: true }) };
    },
    drop: () => rm(dir, { recursive: true, force: true }),
  };
}

async function postgresTemplate(serverUrl: string): Promise<Template> {
  const prefix = `holdfast_crash_${process.pid}_${Date.now()}`;
  const urlOf = (name: string) => Object.assign(new URL(serverUrl), { pathname: `/${name}` }).href;
  const admin = async (sql: string): Promise<void> => {
    const client = new pg.Client({ connectionString: serverUrl });
    await client.connect();
    try {
      await client.query(sql);
    } finally {
      await client.end();
    }
  };
  await admin(`create database ${prefix} template ${process.env['HOLDFAST_TEST_TEMPLATE_DB']}`);
  const drop = (name: string) => admin(`drop database if exists ${name} with (force)`);
  return {
    env: { DATABASE_URL: urlOf(prefix) },
    copy: async (name) => {
      const copied = `${prefix}_${name}`;
      await admin(
        `select pg_terminate_backend(pid) from pg_stat_activity where datname = '${prefix}' and pid <> pg_backend_pid()`,
      );
      await admin(`create database ${copied} template ${prefix}`);
      return { env: { DATABASE_URL: urlOf(copied) }, drop: () => drop(copied) };
    },
    drop: () => drop(prefix),
  };
}
