import { Agent } from '@openai/agents';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { z } from 'zod';
import { createEngine, defineAgent, defineTool, type Engine } from '../../src/index.js';
import { type Database, openDatabase } from '../../src/storage/database.js';
import {
  createEngineDatabase,
  describeEachDatabase,
  describePostgres,
  type TestDatabase,
} from '../harness/database.js';
import { ADMIN, BOB, engineFor, pendingOf, restOf, runToRest } from '../harness/engine.js';
import { call, scripted } from '../harness/script.js';

const COUNT = 40;

const paying = (expiresInMs: number) =>
  defineTool({
    ...{ name: 'pay', description: 'Pays.', input: z.object({}), output: z.string(), effect: 'unsafe' },
    approvalExpiresInMs: expiresInMs,
    execute: () => 'paid',
  });
const agent = (name: string, expiresInMs: number) =>
  defineAgent({
    agent: new Agent({ name, tools: [paying(expiresInMs)], model: scripted([[call('pay', {})]]) }),
    grants: [{ capability: 'tool:call:pay', effect: 'ask' }],
  });
const agents = [agent('quick', 1500), agent('slow', 3_600_000)];

describeEachDatabase('deadlines', (kind) => {
  const t = engineFor(kind, { agents });
  const expired = () => t.engine.listInterruptions({ status: 'expired', limit: 100 }, BOB);

  it('that are due at the same time are settled many at once', { timeout: 60_000 }, async () => {
    const runs = await Promise.all(Array.from({ length: COUNT }, () => runToRest(t.engine, 'slow')));
    expect(new Set(runs.map(({ status }) => status))).toEqual(new Set(['paused']));
    await t.between(async (knex) => {
      await knex('holdfast.timers').update({ due_at: new Date(Date.now() - 1000) });
    });
    await expect.poll(async () => (await expired()).items.length, { timeout: 30_000 }).toBe(COUNT);
    for (const { id } of runs) expect(await restOf(t.engine, id)).toMatchObject({ status: 'completed' });
    const made = await t.between((knex) =>
      knex('holdfast.decisions').countDistinct({ transactions: knex.raw('xmin::text') }),
    );
    expect(Number(made[0]?.transactions)).toBeLessThan(COUNT / 4);
    for (const { id } of runs) expect(await t.engine.verifyRun(id, ADMIN)).toMatchObject({ ok: true, complete: true });
  });

  it('are over for a decision, for whoever reads and for the log alike', async () => {
    const run = await runToRest(t.engine, 'quick');
    const pending = await pendingOf(t.engine, run.id, 'pay');
    const id = pending?.id ?? '';
    const seen: unknown[] = [];
    // Whatever is read first says what a decision would be told.
    for (let n = 0; n < 400; n++) {
      const read = await t.engine.getInterruption(id, BOB);
      const { items } = await t.engine.listInterruptions({ status: 'pending', runId: run.id, limit: 10 }, BOB);
      const isOver = Date.parse(pending?.expiresAt ?? '') <= Date.now() - 50;
      if (isOver) seen.push(read.status, items.length);
      if (isOver) break;
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    expect(seen).toEqual(['expired', 0]);
    await expect(t.engine.decide(id, { verdict: 'approve' }, BOB)).rejects.toMatchObject({
      code: 'interruption_expired',
    });
  });
});

describePostgres('a worker', () => {
  let database: TestDatabase;
  let engine: Engine;
  let beside: Database;
  beforeAll(async () => {
    database = await createEngineDatabase('postgres');
    engine = await createEngine({ ...database.options, workerId: 'test', agents });
    beside = await openDatabase(database.options);
  });
  afterAll(async () => {
    await engine.stop({ graceMs: 1000 });
    await beside.close();
    await database.drop();
  });

  it('whose run with a deadline is held by another transaction says that it lives, and settles the others', {
    timeout: 30_000,
  }, async () => {
    const [held, free] = await Promise.all([runToRest(engine, 'quick'), runToRest(engine, 'quick')]);
    const heartbeat = async () => (await engine.getWorker('test')).heartbeatAt;
    await beside.knex.transaction(async (trx) => {
      await trx.raw('select id from holdfast.runs where id = ? for update', [held.id]);
      await expect
        .poll(() => engine.getRun(free.id, ADMIN), { timeout: 10_000 })
        .toMatchObject({ status: 'completed' });
      const before = await heartbeat();
      await expect.poll(heartbeat, { timeout: 10_000 }).not.toBe(before);
      expect(await engine.getRun(held.id, ADMIN)).toMatchObject({ status: 'paused' });
    });
    await expect.poll(() => engine.getRun(held.id, ADMIN), { timeout: 10_000 }).toMatchObject({ status: 'completed' });
  });
});
