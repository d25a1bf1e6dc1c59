import { Agent } from '@openai/agents';
import type { Knex } from 'knex';
import { beforeEach, expect, it } from 'vitest';
import { z } from 'zod';
import { defineAgent, defineTool, functionModel, waitFor } from '../../../src/index.js';
import { describeEachDatabase } from '../../harness/database.js';
import { ADMIN, BOB, engineFor, restOf, runToRest } from '../../harness/engine.js';
import { call, outputAfter, say, scripted } from '../../harness/script.js';
import { SLOW } from '../../harness/slow.js';

/** What a run that waits goes on from (its stored state, its counters, its deadlines) is compared with its log, whatever someone has changed by SQL. */

let did: string[] = [];
let asked: string[] = [];
const pay = defineTool({
  ...{ name: 'pay', description: 'Pays.', input: z.object({ n: z.number() }), output: z.string(), approval: true },
  execute: ({ n }) => {
    did.push(`pay ${n}`);
    return `paid ${n}`;
  },
});
const nap = defineTool({
  ...{ name: 'nap', description: 'Waits.', input: z.object({}), output: z.json() },
  execute: () => waitFor({ kind: 'timer', afterMs: 2000 }),
});
const model = functionModel('model', ({ input }) => {
  asked.push(JSON.stringify(input));
  return outputAfter([[call('pay', { n: 1 }, 'a')], [call('pay', { n: 2 }, 'b')]], input);
});
const config = {
  agents: [
    defineAgent({ agent: new Agent({ name: 'payer', model, tools: [pay] }), grants: ['tool:call:*'] }),
    defineAgent({
      agent: new Agent({ name: 'sleeper', model: scripted([[call('nap', {})], [say('awake')]]), tools: [nap] }),
      grants: ['tool:call:*'],
    }),
    defineAgent({ agent: new Agent({ name: 'short', model, tools: [pay] }), grants: ['tool:call:*'], maxTurns: 1 }),
  ],
};

describeEachDatabase('a run that waits, changed by SQL', (kind) => {
  const t = engineFor(kind, config);
  beforeEach(() => {
    did = [];
    asked = [];
  });
  const approve = async (runId: string) => {
    const { items } = await t.engine.listInterruptions({ status: 'pending', runId, limit: 10 }, BOB);
    for (const { id } of items) await t.engine.decide(id, { verdict: 'approve' }, BOB);
    return restOf(t.engine, runId);
  };
  const changed = async (agent: string, work: (knex: Knex, id: string) => Promise<unknown>) => {
    const { id } = await runToRest(t.engine, agent, 'honest');
    await t.between((knex) => work(knex, id));
    return id;
  };
  const forge = async (knex: Knex, id: string): Promise<void> => {
    const of = () => knex('holdfast.snapshots').where({ run_id: id });
    await of().update({ state: knex.raw(`replace(state, 'honest', 'forged')`) });
    await of().update({ digest: knex.raw(`'sha256:' || encode(sha256(convert_to(state, 'UTF8')), 'hex')`) });
  };

  it('goes on from the state that its log says, and not from one that was put in its place', async () => {
    const id = await changed('payer', forge);
    const { rows } = await t.engine.verifyRun(id, ADMIN);
    expect(rows.map(({ table, column }) => `${table}.${column}`)).toEqual(['snapshots.digest', 'snapshots.state']);
    asked = [];
    expect(await approve(id)).toMatchObject({ status: 'paused' });
    expect(await approve(id)).toMatchObject({ status: 'completed' });
    expect(asked.some((one) => one.includes('forged'))).toBe(false);
    expect(did).toEqual(['pay 1', 'pay 2']);
    expect(await t.engine.verifyRun(id, ADMIN)).toMatchObject({ ok: true });
  });

  it.runIf(SLOW)('does not go on from such a state where the event that says another has lost its key', async () => {
    const id = await changed('payer', async (knex, runId) => {
      await forge(knex, runId);
      await knex('holdfast.events').where({ run_id: runId, key: '0:paused' }).update({ key: 'elsewhere' });
    });
    expect(await approve(id)).toMatchObject({ status: 'failed', error: { code: 'state_unreadable' } });
    expect(did).toEqual([]);
  });

  it.runIf(SLOW).each([
    ['turns', { turns: -5 }],
    ['total_tokens', { total_tokens: -100_000 }],
    ['rebuilt_segment', { rebuilt_segment: 1 }],
    ['recorded_seq', { recorded_seq: 4 }],
  ])('executes nothing where its %s is not what the log says', async (column, change) => {
    const id = await changed('short', (knex, runId) => knex('holdfast.runs').where({ id: runId }).update(change));
    const run = await approve(id);
    expect(run).toMatchObject({ status: 'failed', error: { code: 'row_changed' } });
    expect(run.error?.message).toContain(column);
    expect(did).toEqual([]);
  });

  it.runIf(SLOW)('an approval does not expire because someone has changed its timer', async () => {
    const past = new Date(Date.now() - 3_600_000);
    const id = await changed('payer', (knex, runId) =>
      knex('holdfast.timers').where({ run_id: runId }).update({ due_at: past }),
    );
    const both = await changed('payer', async (knex, runId) => {
      await knex('holdfast.timers').where({ run_id: runId }).update({ due_at: past });
      await knex('holdfast.interruptions').where({ run_id: runId }).update({ expires_at: past });
    });
    // Each worker settles what is due once a second.
    await new Promise((resolve) => setTimeout(resolve, 2500));
    expect(await t.engine.getRun(id, ADMIN)).toMatchObject({ status: 'paused' });
    expect(await t.engine.getRun(both, ADMIN)).toMatchObject({ status: 'paused' });
    const [timer] = await t.between((knex) => knex('holdfast.timers').where({ run_id: id }));
    expect(timer.due_at.getTime()).toBeGreaterThan(Date.now());
    expect(await approve(id)).toMatchObject({ status: 'paused' });
    expect(did).toEqual(['pay 1']);
  });

  it.runIf(SLOW).each(['moved to another year', 'removed'])(
    'goes on at its time though its timer was %s',
    async (how) => {
      const id = await changed('sleeper', (knex, runId) => {
        const timer = knex('holdfast.timers').where({ run_id: runId });
        return how === 'removed' ? timer.delete() : timer.update({ due_at: new Date(Date.now() + 31_536_000_000) });
      });
      await expect.poll(async () => (await restOf(t.engine, id)).status, { timeout: 40_000 }).toBe('completed');
      expect(await t.engine.verifyRun(id, ADMIN)).toMatchObject({ ok: true, rows: [] });
    },
  );
});
