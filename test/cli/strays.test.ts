import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { Agent } from '@openai/agents';
import { afterEach, expect, it } from 'vitest';
import { z } from 'zod';
import { checkDatabase } from '../../src/cli/doctor/check-database.js';
import type { Finding } from '../../src/cli/doctor/finding.js';
import { readSettings } from '../../src/config.js';
import { createEngine, defineAgent, defineTool, type Engine } from '../../src/index.js';
import { openDatabase } from '../../src/storage/database/open-database.js';
import { ROOT } from '../docs/pages.js';
import {
  createEngineDatabase,
  describeEachDatabaseSlowly,
  describePostgres,
  type TestDatabase,
} from '../harness/database.js';
import { ADMIN, restOf } from '../harness/engine.js';
import { call, scripted } from '../harness/script.js';

let stands = true;
let begun = 0;
const wait = defineTool({
  name: 'wait',
  description: 'Stands still, while it is to.',
  input: z.object({}),
  output: z.string(),
  effect: 'pure',
  execute: async (_input, { signal }) => {
    begun += 1;
    if (stands) await new Promise((_, reject) => signal?.addEventListener('abort', () => reject(new Error('aborted'))));
    return 'waited';
  },
});
const agents = [
  defineAgent({
    agent: new Agent({ name: 'waiter', model: scripted([[call('wait', {})]]), tools: [wait] }),
    grants: ['tool:call:*'],
  }),
];

let running: Engine | undefined;
/** One engine per process: what a test that fails has left is stopped. */
afterEach(() => running?.stop({ graceMs: 0 }));
async function start(database: TestDatabase, role: 'all' | 'api' = 'all'): Promise<Engine> {
  running = await createEngine({ agents, ...database.options, role, workerId: role });
  return running;
}
const startRuns = (engine: Engine, count: number) =>
  Promise.all(
    Array.from({ length: count }, async () => (await engine.startRun({ agent: 'waiter', input: 'go' }, ADMIN)).id),
  );

async function change(database: TestDatabase, ...statements: [sql: string, ...values: string[]][]): Promise<void> {
  const opened = await openDatabase(database.options);
  for (const [sql, ...values] of statements) await opened.knex.raw(sql, values);
  await opened.close();
}

/** What doctor says of the strays of a database. */
async function strays({ options }: TestDatabase): Promise<Finding[]> {
  const settings = readSettings({
    DATABASE_URL: options.databaseUrl ?? undefined,
    HOLDFAST_DATA_DIR: options.dataDir,
  });
  return (await checkDatabase(settings, null)).filter(({ check }) => check === 'strays');
}

/** Gives a segment up, as the page on deploys says. */
async function giveUp(database: TestDatabase, id: string): Promise<void> {
  const { databaseUrl } = database.options;
  if (databaseUrl === null)
    return change(database, [`update dbos.workflow_status set status = 'CANCELLED' where workflow_uuid = ?`, id]);
  const cli = join(ROOT, 'node_modules/@dbos-inc/dbos-sdk/dist/src/cli/cli.js');
  const ended = spawnSync(process.execPath, [cli, 'workflow', 'cancel', id, '-s', databaseUrl], { encoding: 'utf8' });
  expect(ended.status, ended.stdout + ended.stderr).toBe(0);
}

describeEachDatabaseSlowly('strays', (kind) => {
  it('are listed with their remedy, and the remedy is one', async () => {
    const database = await createEngineDatabase(kind);
    expect(await strays(database)).toMatchObject([{ status: 'ok' }]);

    begun = 0;
    let engine = await start(database);
    const [left = '', foreign = '', broken = ''] = await startRuns(engine, 3);
    await expect.poll(() => begun).toBe(3);
    await engine.stop({ graceMs: 0 });
    engine = await start(database, 'api');
    const queued = await startRuns(engine, 7);
    await engine.stop({ graceMs: 0 });
    const work = `update dbos.workflow_status set`;
    await change(
      database,
      [`${work} application_version = '2' where workflow_uuid = ?`, foreign],
      [`${work} status = 'ERROR' where workflow_uuid = ?`, broken],
      [`update holdfast.runs set updated_at = now() - interval '1 hour' where id = ?`, broken],
    );

    const found = await strays(database);
    expect(found.map(({ status, detail }) => [status, detail])).toEqual([
      ['warn', expect.stringMatching(`^runs whose segment cannot go on: ${broken} \\(segment 0 is ERROR, since 20`)],
      ['fail', expect.stringMatching(`^1 recorded under version 2, .* up to 1, since 20.*: ${foreign}$`)],
      ['warn', expect.stringMatching(`^1 at work under worker all, which has been silent since 20.*: ${left}$`)],
      [
        'warn',
        expect.stringMatching(/^7 in the queue, and no worker lives, since 20.*: (run_\w+, ){4}run_\w+ and more$/),
      ],
    ]);
    expect(found.map(({ wayOut }) => wayOut)).toEqual([
      expect.stringContaining('Start `holdfast serve`'),
      expect.stringContaining('build with version 2'),
      expect.stringContaining('Start `holdfast serve`'),
      expect.stringContaining('Start `holdfast serve`'),
    ]);

    stands = false;
    engine = await start(database);
    for (const id of [left, ...queued]) expect(await restOf(engine, id)).toMatchObject({ status: 'completed' });
    await expect.poll(async () => (await engine.getRun(broken, ADMIN)).status).toBe('failed');
    const again = await engine.retryRun(broken, {}, ADMIN);
    expect(await restOf(engine, again.id)).toMatchObject({ status: 'completed', output: 'call_wait=waited' });
    expect((await engine.getRun(foreign, ADMIN)).status).toBe('running');
    await engine.stop({ graceMs: 1000 });

    await giveUp(database, foreign);
    expect(await strays(database)).toMatchObject([
      { detail: expect.stringContaining(`${foreign} (segment 0 is CANCELLED`) },
    ]);
    engine = await start(database);
    await expect.poll(async () => (await engine.getRun(foreign, ADMIN)).status).toBe('failed');
    const forth = await engine.retryRun(foreign, {}, ADMIN);
    expect(await restOf(engine, forth.id)).toMatchObject({ status: 'completed', output: 'call_wait=waited' });
    await engine.stop({ graceMs: 1000 });
    expect(await strays(database)).toMatchObject([{ status: 'ok', detail: expect.stringContaining('none') }]);
    stands = true;
    await database.drop();
  });

  it('of a build that is older than what was started here last are all of the queue', async () => {
    const database = await createEngineDatabase(kind);
    await change(database, [
      `insert into dbos.application_versions (version_id, version_name, application_name, version_timestamp)
       values ('v', '2', 'holdfast', 9000000000000)`,
    ]);
    expect(await strays(database)).toMatchObject([
      { status: 'fail', detail: expect.stringContaining('version 2'), wayOut: expect.stringContaining('version 2') },
    ]);
    stands = false;
    const engine = await start(database);
    const [id = ''] = await startRuns(engine, 1);
    expect(await engine.getRun(id, ADMIN, { waitMs: 2000 })).toMatchObject({ status: 'queued' });
    await engine.stop({ graceMs: 0 });
    stands = true;
    await database.drop();
  });
});

describePostgres('doctor', () => {
  it('sees beside living workers what is theirs, and what no one has', async () => {
    const database = await createEngineDatabase('postgres');
    begun = 0;
    const engine = await start(database);
    const [mine = '', other = ''] = await startRuns(engine, 2);
    await expect.poll(() => begun).toBe(2);
    expect(await strays(database)).toMatchObject([{ status: 'ok', detail: expect.stringContaining('1 workers live') }]);
    const opened = await openDatabase(database.options);
    expect(await opened.tryLock('holdfast:worker:gone')).not.toBeNull();
    await opened.knex.raw(`update dbos.workflow_status set executor_id = 'gone' where workflow_uuid = ?`, [other]);
    const [found, ...more] = await strays(database);
    expect(more).toEqual([]);
    expect(found?.detail).toContain(`worker gone, which has been silent`);
    expect(found?.detail).toContain(other);
    expect(found?.detail).not.toContain(mine);
    expect(found?.wayOut).toContain('Another worker takes them over');
    await opened.close();
    await engine.stop({ graceMs: 0 });
    await database.drop();
  });

  it('does not make a database that is missing', async () => {
    const { options, drop } = await createEngineDatabase('postgres');
    await drop();
    const settings = readSettings({ DATABASE_URL: options.databaseUrl ?? undefined });
    const first = await checkDatabase(settings, null);
    expect(first).toMatchObject([
      { check: 'database', status: 'warn', detail: expect.stringContaining('no database') },
    ]);
    expect(await checkDatabase(settings, null)).toEqual(first);
  });
});
