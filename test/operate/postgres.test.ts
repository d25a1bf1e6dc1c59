import { spawnSync } from 'node:child_process';
import { Agent } from '@openai/agents';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { z } from 'zod';
import { createEngine, defineAgent, defineTool, type Engine, type EngineConfig } from '../../src/index.js';
import { openDatabase } from '../../src/storage/database/open-database.js';
import { pageText, section } from '../docs/pages.js';
import {
  createEngineDatabase,
  describePostgresSlowly,
  onServer,
  type TestDatabase,
  testDatabaseUrl,
} from '../harness/database.js';
import { ADMIN, BOB, kindsOf, pendingOf, restOf } from '../harness/engine.js';
import { call, scripted } from '../harness/script.js';

/** What docs/operate/postgres.md says of one process and its database. */
const page = pageText('docs/operate/postgres.md');

let stands = false;
let paid: string[] = [];
const look = defineTool({
  name: 'look',
  description: 'Looks.',
  input: z.object({ n: z.number() }),
  output: z.string(),
  effect: 'pure',
  execute: ({ n }) => `seen ${n}`,
});
const pay = defineTool({
  name: 'pay',
  description: 'Pays, and stands still then, while it is to.',
  input: z.object({}),
  output: z.string(),
  effect: 'unsafe',
  execute: async (_input, { idempotencyKey, signal }) => {
    paid.push(idempotencyKey);
    if (stands) await new Promise((_, reject) => signal?.addEventListener('abort', () => reject(new Error('aborted'))));
    return 'paid';
  },
});
const ask = defineTool({
  name: 'ask',
  description: 'Asks first.',
  input: z.object({}),
  output: z.string(),
  effect: 'unsafe',
  approval: () => 'Sure?',
  execute: () => 'done',
});
const agent = (name: string, outputs: Parameters<typeof scripted>[0]) =>
  defineAgent({
    agent: new Agent({ name, model: scripted(outputs), tools: [look, pay, ask] }),
    grants: ['tool:call:*'],
  });
const agents = [
  agent(
    'looker',
    Array.from({ length: 6 }, (_, n) => [call('look', { n }, `look_${n}`)]),
  ),
  agent('payer', [[call('pay', {})]]),
  agent('asker', [[call('ask', {})]]),
];

describePostgresSlowly('one process', () => {
  let database: TestDatabase;
  let engine: Engine;
  beforeEach(async () => {
    database = await createEngineDatabase('postgres');
    stands = false;
    paid = [];
  });
  afterEach(async () => {
    await engine.stop({ graceMs: 0 });
    await database.drop();
  });
  const start = async (options = database.options, config: Partial<EngineConfig> = {}) => {
    engine = await createEngine({ agents, ...options, workerId: 'test', ...config });
  };
  const startRun = async (name: string) => (await engine.startRun({ agent: name, input: 'go' }, ADMIN)).id;

  it('has at most as many connections as the page says, and says who they are', async () => {
    const [most = 0, pool = 0, own = 0] = (section(page, '## Connections').match(/\*\*(\d+)\*\*/g) ?? []).map((bold) =>
      Number(bold.slice(2, -2)),
    );
    // The lock, the heartbeat, and two that listen.
    expect(most).toBe(pool + own + 4);
    await start();
    const observer = await openDatabase({ ...database.options, poolSize: 1 });
    const count = async (): Promise<number> => {
      const { rows } = await observer.knex.raw(
        `select count(*)::int as n from pg_stat_activity
          where datname = current_database() and application_name <> current_setting('application_name')
            and backend_type = 'client backend'`,
      );
      return rows[0].n;
    };
    const seen: number[] = [];
    const ids = await Promise.all(Array.from({ length: 40 }, () => startRun('looker')));
    const watch = setInterval(() => {
      void count().then(
        (n) => seen.push(n),
        () => undefined,
      );
    }, 20);
    for (const id of ids) expect((await restOf(engine, id)).status).toBe('completed');
    clearInterval(watch);
    await observer.close();
    expect(Math.max(...seen)).toBeLessThanOrEqual(most);
    expect(Math.max(...seen)).toBeGreaterThan(pool);
  });

  /** What the page lets an administrator do, and what it lets a user do at a shell. */
  const blocks = (heading: string, language: string): string =>
    [...section(page, heading).matchAll(/```(\w+)\n([^`]+)```/g)].find(([, name]) => name === language)?.[2] ?? '';

  it('needs no more rights than the page gives it', async () => {
    const url = new URL(database.options.databaseUrl ?? '');
    const own = `${url.pathname.slice(1)}_own`;
    const sql = blocks('## What it needs', 'sql').replaceAll('holdfast', own);
    for (const statement of sql.split(';').filter((text) => text.trim() !== '')) await onServer(statement);
    try {
      Object.assign(url, { pathname: `/${own}`, username: own, password: 'secret' });
      await start({ databaseUrl: url.href, dataDir: database.options.dataDir });
      expect(await restOf(engine, await startRun('payer'))).toMatchObject({ status: 'completed' });
      await engine.stop({ graceMs: 0 });
    } finally {
      await onServer(`drop database if exists ${own} with (force)`);
      await onServer(`drop role if exists ${own}`);
    }
  });

  it('goes on from a dump that was made while it worked, and nothing of it is executed before it is asked to', async () => {
    await start();
    const asked = await startRun('asker');
    expect(await restOf(engine, asked)).toMatchObject({ status: 'paused' });
    stands = true;
    const [kept, dropped] = [await startRun('payer'), await startRun('payer')];
    await expect.poll(() => paid.length).toBe(2);

    const name = `${new URL(database.options.databaseUrl ?? '').pathname.slice(1)}_copy`;
    const copy = { databaseUrl: testDatabaseUrl(name), dataDir: database.options.dataDir };
    const script = blocks('## Backups', 'sh').replace('createdb holdfast', `createdb -h 127.0.0.1 -U postgres ${name}`);
    const dumped = spawnSync('sh', ['-e', '-c', script], {
      cwd: database.options.dataDir,
      env: { ...process.env, DATABASE_URL: database.options.databaseUrl ?? '', RESTORED_URL: copy.databaseUrl },
      encoding: 'utf8',
    });
    expect(dumped.status, dumped.stderr).toBe(0);
    await engine.stop({ graceMs: 0 });
    stands = false;
    try {
      await start(copy, { role: 'api', workerId: 'api' });
      await engine.cancelRun(dropped, 'Restored from a backup.', ADMIN);
      await new Promise((resolve) => setTimeout(resolve, 4000));
      expect((await engine.getRun(kept, ADMIN)).status).toBe('running');
      await engine.stop({ graceMs: 0 });

      await start(copy, { workerId: 'other' });
      expect(await restOf(engine, dropped)).toMatchObject({ status: 'cancelled' });
      expect(await restOf(engine, kept)).toMatchObject({ status: 'paused' });
      expect(await kindsOf(engine, kept)).toContain('call.unknown');
      // Both are at work at once: either may come first.
      expect(paid.toSorted()).toEqual([`${kept}:call_pay`, `${dropped}:call_pay`].toSorted());
      const { id = '' } = (await pendingOf(engine, asked, 'ask')) ?? {};
      await engine.decide(id, { verdict: 'approve' }, BOB);
      expect(await restOf(engine, asked)).toMatchObject({ status: 'completed' });
      expect(await engine.verifyRun(asked, ADMIN)).toMatchObject({ ok: true, complete: true });
      await engine.stop({ graceMs: 0 });
    } finally {
      await onServer(`drop database if exists ${name} with (force)`);
    }
  });
});
