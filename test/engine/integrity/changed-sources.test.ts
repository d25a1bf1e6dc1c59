import { Agent } from '@openai/agents';
import type { Knex } from 'knex';
import { beforeEach, expect, it } from 'vitest';
import { z } from 'zod';
import { defineAgent, defineTool } from '../../../src/index.js';
import { describeEachDatabase } from '../../harness/database.js';
import { ADMIN, BOB, engineFor, eventsOf, restOf, runToRest } from '../../harness/engine.js';
import { call, scripted } from '../../harness/script.js';
import { SLOW } from '../../harness/slow.js';

/** Runs that are made of another run begin with what its log says, also where someone has changed its rows or its events by SQL. */

let did: string[] = [];
const input = z.object({ n: z.number() });
const body =
  (name: string) =>
  ({ n }: { n: number }): string => {
    did.push(`${name} ${n}`);
    return `${name} ${n} done`;
  };
const pay = defineTool({ name: 'pay', description: 'Pays.', input, output: z.string(), execute: body('pay') });
const look = defineTool({
  ...{ name: 'look', description: 'Looks.', input, output: z.string(), effect: 'pure' },
  execute: body('look'),
});
const agent = (name: string, outputs: Parameters<typeof scripted>[0]) =>
  defineAgent({ agent: new Agent({ name, model: scripted(outputs), tools: [pay, look] }), grants: ['tool:call:*'] });
const config = {
  agents: [
    agent('worker', [[call('look', { n: 1 }, 'a')], [call('pay', { n: 2 }, 'b')]]),
    agent('payer', [[call('pay', { n: 1 }, 'a')]]),
  ],
};
const WIDE = `[{"capability":"tool:call:*","delegate":false,"effect":"allow","layer":0,"use":true}]`;

describeEachDatabase('runs that are made of a changed run', (kind) => {
  const t = engineFor(kind, config);
  beforeEach(() => {
    did = [];
  });
  const seqOf = async (id: string, name: string) =>
    (await eventsOf(t.engine, id)).find(({ kind: one }) => one === name)?.seq ?? 0;
  const change = (id: string, work: (knex: Knex) => PromiseLike<unknown>) =>
    t.between(async (knex) => {
      await work(knex);
      return id;
    });

  it('a fork and a retry have grants, input, limits and metadata of the log, whatever the row says', async () => {
    const request = { agent: 'worker', input: 'go', grants: ['tool:call:look'], maxTurns: 7 };
    const { id } = await t.engine.startRun(request, ADMIN);
    expect(await restOf(t.engine, id)).toMatchObject({ status: 'failed', error: { code: 'capability_denied' } });
    const first = (await eventsOf(t.engine, id))[0]?.data;
    await change(id, (knex) =>
      knex('holdfast.runs')
        .where({ id })
        .update({ grants: WIDE, input: '"evil"', limits: '{}', metadata: '{"evil":1}' }),
    );
    const at = await seqOf(id, 'model.requested');
    for (const { id: made } of [await t.engine.forkRun(id, { at }, ADMIN), await t.engine.retryRun(id, {}, ADMIN)]) {
      expect(await restOf(t.engine, made)).toMatchObject({ status: 'failed', error: { code: 'capability_denied' } });
      const own = (await eventsOf(t.engine, made))[0]?.data;
      const { grants, input: given, limits, metadata, policyVersion } = first as Record<string, unknown>;
      expect(own).toMatchObject({ grants, input: given, limits, metadata, policyVersion });
    }
    expect(did.filter((one) => one.startsWith('pay'))).toEqual([]);
  });

  it.runIf(SLOW)('no fork is made of events that were changed, and no replay of them', async () => {
    const { id } = await runToRest(t.engine, 'worker');
    const at = (await eventsOf(t.engine, id)).length;
    await change(id, (knex) =>
      knex('holdfast.events')
        .where({ run_id: id, kind: 'call.finished' })
        .update({ data: knex.raw(`replace(data, 'look 1 done', 'evil')`) }),
    );
    await expect(t.engine.forkRun(id, { at }, ADMIN)).rejects.toMatchObject({ code: 'log_broken' });
    for (const request of [{}, { liveModel: true }])
      expect(await t.engine.replayRun(id, request, ADMIN)).toMatchObject({
        result: 'cannot_replay',
        reason: { code: 'log_broken' },
      });
  });

  it.runIf(SLOW)('no fork takes an outcome of a call that the log contradicts', async () => {
    const { id } = await runToRest(t.engine, 'payer');
    const at = await seqOf(id, 'call.started');
    await change(id, (knex) =>
      knex('holdfast.calls').where({ run_id: id }).update({ outcome: '{"output":"evil","type":"output"}' }),
    );
    await expect(t.engine.forkRun(id, { at }, ADMIN)).rejects.toMatchObject({ code: 'row_changed' });
    // A call whose row is gone may have happened: a person is asked.
    await change(id, (knex) => knex('holdfast.calls').where({ run_id: id }).delete());
    const { id: forked } = await t.engine.forkRun(id, { at }, ADMIN);
    await restOf(t.engine, forked);
    const { items } = await t.engine.listInterruptions({ status: 'pending', runId: forked, limit: 10 }, BOB);
    expect(items).toMatchObject([{ callId: 'a', reason: { code: 'unknown_effect' } }]);
    expect(did).toEqual(['pay 1']);
  });

  it.runIf(SLOW)('a call of a fork has the effect that the log says', async () => {
    const { id } = await runToRest(t.engine, 'payer');
    const at = await seqOf(id, 'call.started');
    await change(id, (knex) => knex('holdfast.calls').where({ run_id: id }).update({ effect: 'pure', outcome: null }));
    const { id: forked } = await t.engine.forkRun(id, { at }, ADMIN);
    expect(await restOf(t.engine, forked)).toMatchObject({ status: 'paused' });
    expect(did).toEqual(['pay 1']);
  });
});
