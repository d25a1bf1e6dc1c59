import { Agent } from '@openai/agents';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { z } from 'zod';
import { createEngine, defineAgent, defineTool, type Engine } from '../../src/index.js';
import { createEngineDatabase, describePostgres, onServer, type TestDatabase } from '../harness/database.js';
import { ADMIN, restOf } from '../harness/engine.js';
import { call, say, scripted } from '../harness/script.js';

/** A database that takes no writes for a while, as one beyond its quota. */

let letGo: () => void = () => {};
const held = new Promise<void>((resolve) => {
  letGo = resolve;
});
let paid = 0;
let isPaying = false;
const pay = defineTool({
  ...{ name: 'pay', description: 'Pays.', input: z.object({}), output: z.string(), effect: 'unsafe' },
  execute: async () => {
    paid++;
    isPaying = true;
    await held;
    return 'paid';
  },
});
const agents = [
  defineAgent({
    agent: new Agent({ name: 'payer', tools: [pay], model: scripted([[call('pay', {}, 'pay_1')], [say('done')]]) }),
    grants: ['tool:call:*'],
  }),
];

describePostgres('while the database takes no writes', () => {
  let database: TestDatabase;
  let engine: Engine;
  const told: unknown[] = [];
  beforeAll(async () => {
    database = await createEngineDatabase('postgres');
    const quiet = (): void => {};
    const warn = (fields: object): void => void told.push((fields as { readonly event?: unknown }).event);
    const log = { debug: quiet, info: quiet, warn, error: quiet };
    engine = await createEngine({ agents, ...database.options, workerId: 'test', log });
  });
  afterAll(async () => {
    letGo();
    await engine.stop({ graceMs: 0 });
    await database.drop();
  });
  /** For sessions that begin from now on; those that there are end. */
  const readOnly = async (value: 'on' | 'off') => {
    const name = new URL(database.options.databaseUrl ?? '').pathname.slice(1);
    await onServer(`alter database ${name} set default_transaction_read_only = ${value}`);
    if (value === 'on')
      await onServer(`select pg_terminate_backend(pid) from pg_stat_activity where datname = '${name}'`);
  };

  it('nothing is sent here, what writes says so, and runs go on when it does', { timeout: 120_000 }, async () => {
    const { id } = await engine.startRun({ agent: 'payer', input: 'go' }, ADMIN);
    await expect.poll(() => isPaying).toBe(true);
    expect(await engine.isReady()).toBe(true);
    await readOnly('on');
    await expect.poll(() => engine.isReady()).toBe(false);
    // A connection that was at rest hears first that it was ended.
    const refused = () =>
      engine.startRun({ agent: 'payer', input: 'go' }, ADMIN).catch(({ code, status }) => ({ code, status }));
    await expect.poll(refused).toEqual({ code: 'database_read_only', status: 503 });
    await expect
      .poll(() => engine.health())
      .toMatchObject({ checks: { database: { status: 'fail', detail: 'The database takes no writes.' } } });
    letGo();
    await expect.poll(() => told).toContain('database_read_only');
    await expect.poll(async () => (await engine.getRun(id, ADMIN, {})).status).toBe('running');
    await readOnly('off');
    await expect.poll(() => engine.isReady()).toBe(true);
    expect(await restOf(engine, id)).toMatchObject({ status: 'completed' });
    expect(paid).toBe(1);
    expect(await engine.verifyRun(id, ADMIN)).toMatchObject({ ok: true, complete: true });
  });
});
