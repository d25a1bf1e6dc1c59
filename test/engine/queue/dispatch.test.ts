import { setTimeout as sleep } from 'node:timers/promises';
import { Agent } from '@openai/agents';
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import type { DispatchLimits, TenantLimits } from '../../../src/core/queue/dispatch.js';
import { SEGMENT_QUEUE } from '../../../src/engine/queue/segment-queue.js';
import { type Caller, createEngine, defineAgent, defineTool, type Engine, functionModel } from '../../../src/index.js';
import { openDatabase } from '../../../src/storage/database/open-database.js';
import { createEngineDatabase, describeEachDatabaseSlowly, describePostgresSlowly } from '../../harness/database.js';
import { ADMIN, openTestEngine, restOf, type TestEngine } from '../../harness/engine.js';
import { call, resultsIn, say, textOf } from '../../harness/script.js';

/** What was asked of the runs, in the order in which they began or went on. */
const order: string[] = [];
const atWork = new Map<string, number>();
const most = new Map<string, number>();
/** How many of an agent wait for each other, so that they are seen at work together. */
const meet = new Map<string, number>();
/** Agents whose runs wait for the one that is called `other`. */
const before = new Set<string>();
beforeEach(() => {
  order.length = 0;
  most.clear();
  meet.clear();
  before.clear();
});

const ask = defineTool({
  ...{ name: 'ask', description: 'Asks.', input: z.object({}), output: z.string(), effect: 'unsafe' },
  approval: () => 'because',
  execute: () => 'asked',
});

const textIn = (input: unknown): string =>
  typeof input === 'string' ? input : textOf((input as { content?: unknown }[])[0]?.content);

/** Says `done` after a moment; an asker waits for an approval before. */
const agent = (name: string, limits: DispatchLimits = {}) => {
  const model = functionModel(name, async ({ input }) => {
    const resumed = resultsIn(input).length > 0;
    order.push(`${textIn(input)}${resumed ? ' resumed' : ''}`);
    const now = (atWork.get(name) ?? 0) + 1;
    atWork.set(name, now);
    most.set(name, Math.max(most.get(name) ?? 0, now));
    await sleep(20);
    const waits = () => (most.get(name) ?? 0) < (meet.get(name) ?? 0) || (before.has(name) && !order.includes('other'));
    for (let n = 0; n < 500 && waits(); n++) await sleep(10);
    atWork.set(name, (atWork.get(name) ?? 0) - 1);
    return [name === 'asker' && !resumed ? call('ask', {}) : say('done')];
  });
  return defineAgent({ agent: new Agent({ name, tools: [ask], model }), grants: ['tool:call:*'], ...limits });
};
const plain = [agent('worker'), agent('asker')];

interface Started {
  readonly id: string;
  readonly caller: Caller;
}

const start = async (
  engine: Engine,
  text: string,
  request: { tenant?: string; agent?: string; priority?: number } = {},
) => {
  const { tenant = 'default', agent: name = 'worker', priority } = request;
  const caller = { ...ADMIN, tenant };
  const asked = { agent: name, input: text, ...(priority === undefined ? {} : { priority }) };
  return { id: (await engine.startRun(asked, caller)).id, caller };
};

const finish = async (engine: Engine, runs: readonly Started[]) =>
  (await Promise.all(runs.map(({ id, caller }) => restOf(engine, id, caller)))).map(({ status }) => status);

describeEachDatabaseSlowly('dispatch', (kind) => {
  let t: TestEngine;
  const open = async (
    config: { agents?: typeof plain; concurrency?: number; tenants?: TenantLimits; role?: 'api' } = {},
  ) => {
    t = await openTestEngine(kind, { agents: plain, concurrency: 1, ...config });
  };
  afterEach(() => t.close());

  it('resumes before it begins, also of another tenant, begins by priority, and by age', async () => {
    await open();
    const ask = (text: string) => start(t.engine, text, { agent: 'asker', priority: 1_000_000, tenant: 'other' });
    const paused = [await ask('asked'), await ask('asked too')];
    expect(await finish(t.engine, paused)).toEqual(['paused', 'paused']);
    const api = await t.restart({ role: 'api' });
    const runs = [
      await start(api, 'first'),
      await start(api, 'second'),
      await start(api, 'later', { priority: 1001 }),
      await start(api, 'urgent', { priority: 1 }),
    ];
    for (const { id, caller } of paused) {
      const { items } = await api.listInterruptions({ runId: id, limit: 1 }, caller);
      await api.decide(items[0]?.id ?? '', { verdict: 'approve' }, caller);
    }
    order.length = 0;
    const engine = await t.restart();
    await finish(engine, [...paused, ...runs]);
    expect(order).toEqual(['asked resumed', 'asked too resumed', 'urgent', 'first', 'second', 'later']);
  });

  it('gives tenants their turns, however long the queue of one of them is and however urgent it says that it is', async () => {
    await open({ role: 'api' });
    const runs: Started[] = [];
    for (let n = 1; n <= 5; n++) runs.push(await start(t.engine, `large ${n}`, { tenant: 'large', priority: 1 }));
    for (let n = 1; n <= 2; n++) runs.push(await start(t.engine, `small ${n}`, { tenant: 'small' }));
    runs.push(await start(t.engine, 'tiny 1', { tenant: 'tiny', agent: 'worker' }));
    const engine = await t.restart({ role: 'all' });
    await finish(engine, runs);
    expect(order).toEqual(['large 1', 'small 1', 'tiny 1', 'large 2', 'small 2', 'large 3', 'large 4', 'large 5']);
  });

  it('shares the room of a worker among tenants', async () => {
    await open({ role: 'api' });
    const runs: Started[] = [];
    for (let n = 0; n < 6; n++) runs.push(await start(t.engine, 'large', { tenant: 'large' }));
    for (let n = 0; n < 2; n++) runs.push(await start(t.engine, 'small', { tenant: 'small' }));
    meet.set('worker', 4);
    const engine = await t.restart({ role: 'all', concurrency: 4 });
    await finish(engine, runs);
    expect(order.slice(0, 4).toSorted()).toEqual(['large', 'large', 'small', 'small']);
  });

  it('keeps the limit of an agent over all tenants, and lets others pass', async () => {
    meet.set('worker', 2);
    before.add('worker');
    const agents = [agent('worker', { concurrency: 2 }), agent('asker')];
    await open({ agents, concurrency: 8 });
    const runs: Started[] = [];
    for (let n = 0; n < 8; n++) runs.push(await start(t.engine, 'limited', { tenant: n % 2 === 0 ? 'a' : 'b' }));
    const other = await start(t.engine, 'other', { agent: 'asker' });
    expect(await finish(t.engine, [other])).toEqual(['paused']);
    expect(order.indexOf('other')).toBeLessThanOrEqual(2);
    expect(await finish(t.engine, runs)).toEqual(runs.map(() => 'completed'));
    expect(most.get('worker')).toBe(2);
  });

  it('keeps the limits of tenants, of each and of those that are named', async () => {
    meet.set('b', 2).set('c', 3);
    const agents = ['a', 'b', 'c'].map((name) => agent(name));
    const tenants = { each: { concurrency: 1 }, named: { b: { concurrency: 2 }, c: {} } };
    await open({ agents, concurrency: 8, tenants, role: 'api' });
    const runs: Started[] = [];
    for (let n = 0; n < 5; n++)
      for (const tenant of ['a', 'b', 'c']) runs.push(await start(t.engine, tenant, { tenant, agent: tenant }));
    const engine = await t.restart({ role: 'all' });
    expect(await finish(engine, runs)).toEqual(runs.map(() => 'completed'));
    expect([most.get('a'), most.get('b')]).toEqual([1, 2]);
    expect(most.get('c')).toBeGreaterThan(2);
  });

  it('begins no more runs in a time than a rate allows, also after a restart, and goes on with those that have begun', async () => {
    const agents = [
      agent('worker', { rate: { runs: 2, perMs: 3_600_000 } }),
      agent('asker', { rate: { runs: 1, perMs: 3_600_000 } }),
    ];
    await open({ agents, concurrency: 8 });
    const asked = await start(t.engine, 'asked', { agent: 'asker' });
    expect(await finish(t.engine, [asked])).toEqual(['paused']);
    const runs: Started[] = [];
    for (let n = 1; n <= 4; n++) runs.push(await start(t.engine, `run ${n}`));
    await finish(t.engine, runs.slice(0, 2));
    const engine = await t.restart();
    const { items } = await engine.listInterruptions({ status: 'pending', limit: 10 }, ADMIN);
    await engine.decide(items[0]?.id ?? '', { verdict: 'approve' }, ADMIN);
    expect(await finish(engine, [asked])).toEqual(['completed']);
    const statuses = await Promise.all(runs.map(async ({ id }) => (await engine.getRun(id, ADMIN)).status));
    expect(statuses).toEqual(['completed', 'completed', 'queued', 'queued']);
    const free = await t.restart({ agents: plain });
    expect(await finish(free, runs)).toEqual(runs.map(() => 'completed'));
  });

  it('begins the next one as soon as the rate allows it', async () => {
    const PER_MS = 200;
    await open({ concurrency: 8, tenants: { each: { rate: { runs: 2, perMs: PER_MS } } } });
    const runs = await Promise.all(Array.from({ length: 8 }, (_, n) => start(t.engine, `run ${n}`)));
    expect(await finish(t.engine, runs)).toEqual(runs.map(() => 'completed'));
    const starts: { ms: string }[] = await t.between(async (knex) =>
      knex('holdfast.dispatch_starts')
        .orderBy('started_at')
        .select(knex.raw('extract(epoch from started_at) * 1000 as ms')),
    );
    const apart = starts.slice(2).map((at, n) => Number(at.ms) - Number(starts[n]?.ms));
    expect(apart).toHaveLength(6);
    expect(Math.min(...apart)).toBeGreaterThanOrEqual(PER_MS);
  });
});

const inTenants = (tenants: unknown) => ({ agents: [], tenants: tenants as TenantLimits });

describe('limits', () => {
  it.each([
    [inTenants({ each: { concurrency: 0 } }), 'config_invalid', '/tenants/each/concurrency'],
    [inTenants({ named: { acme: { rate: { runs: 1 } } } }), 'config_invalid', '/tenants/named/acme/rate/perMs'],
    [inTenants({ acme: { concurrency: 1 } }), 'config_invalid', '/tenants/acme'],
    [{ agents: [agent('worker', { concurrency: 1.5 })] }, 'agent_invalid', '/concurrency'],
    [{ agents: [agent('worker', { rate: { runs: 1, perMs: 0 } })] }, 'agent_invalid', '/rate/perMs'],
  ])('that nothing could be kept to are refused at the start: %#', async (config, code, pointer) => {
    const refused = createEngine({ ...config, dataDir: '/nowhere/at/all' });
    await expect(refused).rejects.toMatchObject({ code, fields: [{ pointer }] });
  });
});

describePostgresSlowly('a worker that starts', () => {
  it('takes no more than it may, whatever another one wrote of the queue', async () => {
    const database = await createEngineDatabase('postgres');
    const config = { ...database.options, workerId: 'test', agents: plain };
    const api = await createEngine({ ...config, role: 'api' });
    onTestFinished(() => api.stop({ graceMs: 0 }));
    const runs = [await start(api, 'one'), await start(api, 'two'), await start(api, 'three')];
    await api.stop();
    const beside = await openDatabase(database.options);
    await beside.knex('dbos.queues').where({ name: SEGMENT_QUEUE }).update({ worker_concurrency: 8 });
    const trx = await beside.knex.transaction();
    await trx('dbos.queues').select().forUpdate();
    const starting = createEngine({ ...config, concurrency: 1 });
    // It has launched, and waits to write what it may take.
    await sleep(1500);
    await trx.rollback();
    await beside.close();
    const engine = await starting;
    onTestFinished(() => engine.stop({ graceMs: 0 }));
    await finish(engine, runs);
    expect(order).toEqual(['one', 'two', 'three']);
    expect(most.get('worker')).toBe(1);
    await engine.stop();
    await database.drop();
  });
});
