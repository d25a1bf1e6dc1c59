import { Agent, Usage } from '@openai/agents';
import { expect, it } from 'vitest';
import { defineAgent, definePlan, functionModel } from '../../../src/index.js';
import { describeEachDatabaseSlowly } from '../../harness/database.js';
import { ADMIN, dataOf, engineFor, restOf } from '../../harness/engine.js';
import { say } from '../../harness/script.js';

/** Limits of plans: what all agents may cost that a plan runs, and how long it may take from its start, also while it waits. */

const usage = new Usage({ inputTokens: 100, outputTokens: 100, totalTokens: 200 });
/** Each answer costs a tenth of a dollar. */
const PRICE = { inputPerMillion: '0', outputPerMillion: '1000' };
const helper = new Agent({
  ...{ name: 'helper', modelSettings: { maxTokens: 100 } },
  model: functionModel('helper', () => ({ output: [say('done')], usage })),
});
const helps = (after: string[] = []) => ({ type: 'agent' as const, agent: 'helper', input: 'go', after });
const passOn = (agent: string) => ({ capability: `tool:call:run_${agent}`, effect: 'allow' as const, delegate: true });

const crew = (name: string, budget: { readonly usd: string; readonly onExhausted: 'fail' } | undefined) =>
  definePlan({
    ...{ name, grants: ['tool:call:run_helper'] },
    ...(budget && { budget }),
    plan: { nodes: { a: helps(), b: helps(['a']), c: helps(['b']) } },
  });
const above = (name: string, usd: string) =>
  definePlan({
    ...{ name, grants: ['tool:call:run_crew', passOn('helper')], budget: { usd, onExhausted: 'fail' } },
    plan: { nodes: { crew: { type: 'agent', agent: 'crew', input: 'go' } } },
  });
const waits = (name: string, maxElapsedMs: number) =>
  definePlan({
    ...{ name, maxElapsedMs, grants: ['tool:call:run_waiter', { ...EVENT, delegate: true }] },
    plan: { nodes: { child: { type: 'agent', agent: 'waiter', input: 'go' } } },
  });
const EVENT = { capability: 'event:wait:never', effect: 'allow' as const };
const waiter = definePlan({
  ...{ name: 'waiter', grants: [EVENT] },
  plan: { nodes: { never: { type: 'wait', event: 'never' } } },
});

describeEachDatabaseSlowly('a plan with limits', (kind) => {
  const t = engineFor(kind, {
    agents: [
      defineAgent({ agent: helper }),
      ...[crew('crew', { usd: '0.25', onExhausted: 'fail' }), crew('free', undefined), waiter],
      ...[above('large', '1.00'), above('small', '0.15')],
      ...[waits('short', 1500), waits('long', 600_000)],
    ],
    prices: { 'object/helper': PRICE },
  });
  const run = async (agent: string) => {
    const { id } = await t.engine.startRun({ agent, input: 'go' }, ADMIN);
    for (;;) {
      const seen = await restOf(t.engine, id);
      if (seen.status !== 'paused') return seen;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  };
  const paused = async (agent: string, more: object = {}) => {
    const { id } = await t.engine.startRun({ agent, input: 'go', ...more }, ADMIN);
    await expect.poll(async () => (await t.engine.getFamily(id, ADMIN)).items.length).toBe(2);
    return id;
  };
  const statuses = async (id: string) =>
    (await t.engine.getFamily(id, ADMIN)).items.map(({ agent, status }) => `${agent} ${status}`).toSorted();

  it('spends no more than its budget over all runs below it', async () => {
    expect(await run('free')).toMatchObject({ status: 'completed', costUsd: '0.3' });
    const failed = await run('crew');
    expect(failed).toMatchObject({ status: 'failed', costUsd: '0.2', error: { code: 'plan_failed' } });
    expect(failed.error?.message).toMatch(/\bc\b.*limit_budget/);
    expect(failed.limits.budget).toEqual({ usd: '0.25', onExhausted: 'fail' });
  });

  it('spends no more than its own budget and that of a plan above it', { timeout: 60_000 }, async () => {
    const large = await run('large');
    expect(large).toMatchObject({ status: 'failed', costUsd: '0.2' });
    const small = await run('small');
    expect(small).toMatchObject({ status: 'failed', costUsd: '0.1' });
    const { items } = await t.engine.getFamily(large.id, ADMIN);
    const inner = items.find(({ agent }) => agent === 'crew');
    const child = await t.engine.getRun(inner?.id ?? '', ADMIN);
    const below = [{ usd: '0.25', onExhausted: 'fail', of: child.id }];
    expect(child.limits.budget).toEqual({ usd: '1', onExhausted: 'fail', of: large.id, below });
    for (const one of items) expect(await t.engine.verifyRun(one.id, ADMIN)).toMatchObject({ ok: true });
  });

  it('takes no longer than it may from its start, with the runs below it', { timeout: 60_000 }, async () => {
    const id = await paused('short');
    await expect.poll(() => statuses(id), { timeout: 20_000 }).toEqual(['short cancelled', 'waiter cancelled']);
    const [cancelled] = await dataOf(t.engine, id, 'run.cancelled');
    expect(JSON.stringify(cancelled)).toContain('It had 1500 ms from its start (maxElapsedMs).');
    expect(await t.engine.verifyRun(id, ADMIN)).toMatchObject({ ok: true, rows: [] });
    const sooner = await paused('long', { maxElapsedMs: 700 });
    await expect.poll(() => statuses(sooner), { timeout: 20_000 }).toEqual(['long cancelled', 'waiter cancelled']);
  });

  it('ends also when no process was there at that moment, and at no other one', { timeout: 60_000 }, async () => {
    const [short, long] = [await paused('short'), await paused('long')];
    await t.between(async (knex) => {
      await new Promise((resolve) => setTimeout(resolve, 1600));
      // Its limits say that it has more time.
      await knex('holdfast.run_deadlines')
        .where({ run_id: long })
        .update({ ends_at: knex.raw('now()') });
    });
    await expect.poll(() => statuses(short), { timeout: 20_000 }).toEqual(['short cancelled', 'waiter cancelled']);
    expect(await statuses(long)).toEqual(['long paused', 'waiter paused']);
    const left = await t.between(async (knex) => {
      const rows: { run_id: string; late: boolean }[] = await knex('holdfast.run_deadlines').select(
        'run_id',
        knex.raw("ends_at > now() + interval '5 minutes' as late"),
      );
      return rows;
    });
    expect(left).toContainEqual({ run_id: long, late: true });
    await t.engine.cancelRun(long, null, ADMIN);
  });
});
