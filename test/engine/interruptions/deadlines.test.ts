import { setTimeout as sleep } from 'node:timers/promises';
import { Agent } from '@openai/agents';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { z } from 'zod';
import { createEngine, defineAgent, defineTool, type Engine, waitForEventTool } from '../../../src/index.js';
import type { Database } from '../../../src/storage/database/database.js';
import { openDatabase } from '../../../src/storage/database/open-database.js';
import {
  createEngineDatabase,
  describeBothDatabasesSlowly,
  describePostgres,
  type TestDatabase,
} from '../../harness/database.js';
import { ADMIN, BOB, dataOf, engineFor, restOf, runToRest } from '../../harness/engine.js';
import { call, scripted } from '../../harness/script.js';

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
const hearer = defineAgent({
  agent: new Agent({
    name: 'hearer',
    tools: [waitForEventTool()],
    model: scripted([[call('wait_for_event', { name: 'bell' }, 'a'), call('wait_for_event', { name: 'bell' }, 'b')]]),
  }),
  grants: ['event:wait:*'],
});
const agents = [agent('quick', 1500), agent('slow', 3_600_000), agent('together', 40_000), hearer];

describeBothDatabasesSlowly('deadlines', (kind) => {
  const t = engineFor(kind, { agents });
  const expired = () => t.engine.listInterruptions({ status: 'expired', limit: 100 }, BOB);

  /** Lets so many runs of an agent wait, however long that takes. */
  const paused = async (agent: string, count: number): Promise<readonly string[]> => {
    const runs = await Promise.all(
      Array.from({ length: count }, () => t.engine.startRun({ agent, input: 'go' }, ADMIN)),
    );
    for (const { id } of runs) await becomes(id, 'paused');
    return runs.map(({ id }) => id);
  };
  const becomes = (id: string, status: string) =>
    expect.poll(async () => (await restOf(t.engine, id)).status, { timeout: 100_000 }).toBe(status);

  it('that are due at the same time are settled many at once', { timeout: 240_000 }, async () => {
    const ids = await paused('together', COUNT);
    // While no worker is there, all of them come due.
    await t.between(async (knex) => {
      const [last] = await knex('holdfast.timers').max({ due: 'due_at' });
      await sleep(Math.max(0, Number(new Date(last?.due)) - Date.now()) + 100);
    });
    await expect.poll(async () => (await expired()).items.length, { timeout: 100_000 }).toBe(COUNT);
    for (const id of ids) await becomes(id, 'completed');
    const made = await t.between((knex) =>
      knex('holdfast.decisions').countDistinct({ transactions: knex.raw('xmin::text') }),
    );
    expect(Number(made[0]?.transactions)).toBeLessThan(COUNT / 4);
    for (const id of ids) expect(await t.engine.verifyRun(id, ADMIN)).toMatchObject({ ok: true, complete: true });
  });

  it('and an event settles all that wait for it, two of one run too, and puts each run into the queue as DBOS does', {
    timeout: 120_000,
  }, async () => {
    const runs = await paused('hearer', 8);
    const told = await t.engine.emitEvent('bell', { eventId: 'bell-1', payload: 7 }, ADMIN);
    expect(told).toMatchObject({ status: 'delivered', delivered: 16 });
    expect(await t.engine.emitEvent('bell', { eventId: 'bell-1', payload: 7 }, ADMIN)).toEqual(told);
    for (const id of runs) {
      await becomes(id, 'completed');
      expect(await dataOf(t.engine, id, 'interruption.decided')).toHaveLength(2);
      expect(await t.engine.verifyRun(id, ADMIN)).toMatchObject({ ok: true, complete: true });
    }
    const ids = runs.map((id) => `${id}:1`).toSorted();
    const rows = await t.between((knex) =>
      knex('dbos.workflow_status as s')
        .join('dbos.workflow_input as i', 'i.workflow_uuid', 's.workflow_uuid')
        .whereIn('s.workflow_uuid', ids)
        .orderBy('s.workflow_uuid')
        .select('s.*', 'i.inputs as given'),
    );
    // One of them is what DBOS wrote, and the others are copies: nothing but names and times tells them apart.
    const shape = ({ workflow_uuid: id, given, ...row }: Record<string, unknown>) => ({
      ...row,
      ...{ given: String(given).replaceAll(String(id).slice(0, -2), '*'), creator_xid: typeof row['creator_xid'] },
      ...{ created_at: 0, updated_at: 0, started_at_epoch_ms: 0, completed_at: 0, owner_xid: 0 },
    });
    expect(rows.map((row) => row.workflow_uuid)).toEqual(ids);
    expect(new Set(rows.map((row) => row.creator_xid)).size).toBe(ids.length);
    for (const row of rows) expect(shape(row)).toEqual(shape(rows[0]));
  });

  it('are over for a decision, for the caller that reads and for the log alike', async () => {
    const runs = [await runToRest(t.engine, 'quick'), await runToRest(t.engine, 'quick')];
    const listed = async (runId: string, status?: 'pending') =>
      (await t.engine.listInterruptions({ runId, limit: 10, ...(status && { status }) }, BOB)).items;
    const [one, other] = await Promise.all(runs.map(async ({ id }) => (await listed(id))[0]?.id ?? ''));
    // No worker is left to settle what is due: the one that reads does.
    await t.restart({ role: 'api' });
    await expect.poll(async () => (await t.engine.getInterruption(one ?? '', BOB)).status).toBe('expired');
    await expect.poll(() => listed(runs[1]?.id ?? '', 'pending')).toEqual([]);
    for (const id of [one, other])
      await expect(t.engine.decide(id ?? '', { verdict: 'approve' }, BOB)).rejects.toMatchObject({
        code: 'interruption_expired',
      });
    for (const { id } of runs) expect(await t.engine.verifyRun(id, ADMIN)).toMatchObject({ ok: true });
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

  it('whose run with a deadline is held by another transaction says that it lives, and settles the others', async () => {
    const [held, free] = await Promise.all([runToRest(engine, 'quick'), runToRest(engine, 'quick')]);
    const heartbeat = async () => (await engine.getWorker('test')).heartbeatAt;
    await beside.knex.transaction(async (trx) => {
      await trx.raw('select id from holdfast.runs where id = ? for update', [held.id]);
      await expect.poll(() => engine.getRun(free.id, ADMIN)).toMatchObject({ status: 'completed' });
      const before = await heartbeat();
      await expect.poll(heartbeat).not.toBe(before);
      expect(await engine.getRun(held.id, ADMIN)).toMatchObject({ status: 'paused' });
    });
    await expect.poll(() => engine.getRun(held.id, ADMIN)).toMatchObject({ status: 'completed' });
  });
});
