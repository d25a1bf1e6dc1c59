import { Agent } from '@openai/agents';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { together } from '../../../src/engine/concurrency/together.js';
import { createEngine, defineAgent, defineTool } from '../../../src/index.js';
import { openDatabase } from '../../../src/storage/database/open-database.js';
import { createEngineDatabase, describeEachDatabase, describePostgres } from '../../harness/database.js';
import { ADMIN, engineFor, kindsOf, restOf, runToRest } from '../../harness/engine.js';
import { call, say, scripted } from '../../harness/script.js';
import { SLOW } from '../../harness/slow.js';

const COUNT = 40;
const pay = defineTool({
  ...{ name: 'pay', description: 'Pays.', input: z.object({}), output: z.string(), effect: 'unsafe' },
  execute: () => 'paid',
});
const agents = [
  defineAgent({
    agent: new Agent({ name: 'payer', tools: [pay], model: scripted([[call('pay', {})]]) }),
    grants: [{ capability: 'tool:call:pay', effect: 'ask' }],
  }),
  defineAgent({ agent: new Agent({ name: 'quick', model: scripted([[say('hello')]]) }) }),
];

describeEachDatabase('cancellations', (kind) => {
  const t = engineFor(kind, { agents });

  const paused = async (count: number): Promise<readonly string[]> => {
    const runs = await Promise.all(
      Array.from({ length: count }, () => t.engine.startRun({ agent: 'payer', input: 'go' }, ADMIN)),
    );
    for (const { id } of runs)
      await expect.poll(async () => (await restOf(t.engine, id)).status, { timeout: 100_000 }).toBe('paused');
    return runs.map(({ id }) => id);
  };
  const cancel = (id: string, reason: string | null = null) => t.engine.cancelRun(id, reason, ADMIN);

  it.runIf(SLOW)('that are asked for at the same time are done many at once', { timeout: 120_000 }, async () => {
    const ids = await paused(COUNT);
    const views = await Promise.all(ids.map((id, n) => cancel(id, n % 2 === 0 ? null : 'too dear')));
    expect(views.map(({ id, status }) => [id, status])).toEqual(ids.map((id) => [id, 'cancelled']));
    const made = await t.between((knex) =>
      knex('holdfast.decisions').countDistinct({ transactions: knex.raw('xmin::text') }),
    );
    expect(Number(made[0]?.transactions)).toBeLessThan(COUNT / 4);
    for (const [n, id] of ids.entries()) {
      expect((await kindsOf(t.engine, id)).slice(-3)).toEqual([
        ...['run.cancel_requested', 'interruption.decided', 'run.cancelled'],
      ]);
      expect(await t.engine.verifyRun(id, ADMIN)).toMatchObject({ ok: true, complete: true });
      const { items } = await t.engine.listEvents(id, { after: 0, limit: 100 }, ADMIN);
      expect(items.at(-1)?.data).toEqual({ reason: n % 2 === 0 ? null : 'too dear' });
    }
  });

  it.runIf(SLOW)('say of each run what is so, also twice of one and of one that is over', async () => {
    const [one = '', other = ''] = await paused(2);
    const { id: over } = await runToRest(t.engine, 'quick');
    const answers = await Promise.allSettled([one, one, over, other, 'none'].map((id) => cancel(id)));
    expect(answers).toMatchObject([
      { status: 'fulfilled', value: { id: one, status: 'cancelled' } },
      { status: 'fulfilled', value: { id: one, status: 'cancelled' } },
      { status: 'rejected', reason: { code: 'run_over' } },
      { status: 'fulfilled', value: { id: other, status: 'cancelled' } },
      { status: 'rejected', reason: { code: 'run_unknown' } },
    ]);
    expect((await kindsOf(t.engine, one)).filter((one) => one === 'run.cancel_requested')).toHaveLength(1);
  });
});

describePostgres('a cancellation', () => {
  it('waits for no run that someone else holds', async () => {
    const test = await createEngineDatabase('postgres');
    const engine = await createEngine({ agents, workerId: 'test', ...test.options });
    const database = await openDatabase(test.options);
    const paused = async (): Promise<string> => {
      const run = await runToRest(engine, 'payer');
      expect(run.status).toBe('paused');
      return run.id;
    };
    try {
      const [held, free] = [await paused(), await paused()];
      const late = await database.knex.transaction(async (trx) => {
        await trx('holdfast.runs').where({ id: held }).forUpdate().select('id');
        const asked = engine.cancelRun(held, null, ADMIN);
        expect(await engine.cancelRun(free, null, ADMIN)).toMatchObject({ status: 'cancelled' });
        expect(await engine.getRun(held, ADMIN)).toMatchObject({ status: 'paused' });
        return { asked };
      });
      expect(await late.asked).toMatchObject({ id: held, status: 'cancelled' });
    } finally {
      await engine.stop({ graceMs: 1000 });
      await database.close();
      await test.drop();
    }
  });
});

describe('what is done together', () => {
  const batches: string[][] = [];
  const alone: string[] = [];
  const ask = together<string, string>({
    atMost: 3,
    key: (what) => what,
    doAll: async (all) => {
      batches.push([...all]);
      await new Promise((resolve) => setImmediate(resolve));
      if (all.includes('broken')) throw new Error('all of it');
      return new Map(all.filter((one) => one !== 'left').map((one) => [one, () => `${one} done`]));
    },
    doOne: async (what) => {
      alone.push(what);
      if (what === 'broken') throw new Error('broken');
      return `${what} alone`;
    },
  });

  it('is as many as may be at once, of one key once, and by itself what is left or fails', async () => {
    const asked = ['a', 'b', 'b', 'c', 'left', 'd', 'broken', 'e'].map(ask);
    const answers = await Promise.allSettled(asked);
    expect(batches).toEqual([
      ['a', 'b', 'c'],
      ['b', 'left', 'd'],
      ['broken', 'e'],
    ]);
    expect(alone).toEqual(['left', 'broken', 'e']);
    expect(answers.map((one) => (one.status === 'fulfilled' ? one.value : one.reason.message))).toEqual([
      ...['a done', 'b done', 'b done', 'c done', 'left alone', 'd done', 'broken', 'e alone'],
    ]);
    expect(await ask('later')).toBe('later done');
  });
});
