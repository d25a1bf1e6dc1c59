import { Agent } from '@openai/agents';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { defineAgent, defineTool } from '../../../src/index.js';
import { describeEachDatabase } from '../../harness/database.js';
import { ADMIN, BOB, decideAndRest, engineFor, kindsOf, restOf, runToRest } from '../../harness/engine.js';
import { call, scripted } from '../../harness/script.js';

const paid: number[] = [];

const pay = (name: string, expiresInMs?: number | null) =>
  defineTool({
    name,
    description: 'Pays.',
    input: z.object({ amount: z.number() }),
    output: z.object({ paid: z.number() }),
    effect: 'unsafe',
    approval: ({ amount }) => (amount > 100 ? `${amount} is more than 100` : false),
    ...(expiresInMs === undefined ? {} : { approvalExpiresInMs: expiresInMs }),
    execute: ({ amount }) => {
      paid.push(amount);
      return { paid: amount };
    },
  });

const agent = (name: string, outputs: Parameters<typeof scripted>[0], tools = [pay('pay')], grant = 'tool:call:*') =>
  defineAgent({ agent: new Agent({ name, model: scripted(outputs), tools }), grants: [grant] });

const config = {
  agents: [
    agent('one', [[call('pay', { amount: 500 })]]),
    agent('small', [[call('pay', { amount: 5 })]]),
    agent('two', [
      [call('pay', { amount: 200 }, 'a'), call('pay', { amount: 7 }, 'b'), call('pay', { amount: 300 }, 'c')],
    ]),
    agent('short', [[call('pay', { amount: 900 })]], [pay('pay', 300)]),
    defineAgent({
      agent: new Agent({ name: 'asked', model: scripted([[call('pay', { amount: 1 })]]), tools: [pay('pay')] }),
      grants: [{ capability: 'tool:call:pay', effect: 'ask' }],
    }),
  ],
};

describeEachDatabase('approvals', (kind) => {
  const t = engineFor(kind, config);

  it('pauses, approves, and runs the call once', async () => {
    paid.length = 0;
    const paused = await runToRest(t.engine, 'one');
    expect(paused).toMatchObject({ status: 'paused', turns: 1 });
    expect(paused.interruptions).toHaveLength(1);
    expect(paid).toEqual([]);
    const done = await decideAndRest(t.engine, paused.id, { verdict: 'approve' });
    expect(done).toMatchObject({ status: 'completed', output: 'call_pay={"paid":500}', turns: 2, interruptions: [] });
    expect(paid).toEqual([500]);
    expect(await kindsOf(t.engine, paused.id)).toEqual([
      ...['run.created', 'segment.started', 'model.requested', 'model.responded', 'call.checked'],
      ...['interruption.requested', 'run.paused', 'interruption.decided', 'segment.started', 'call.checked'],
      ...['call.started', 'call.finished', 'model.requested', 'model.responded', 'run.completed'],
    ]);
  });

  it('rejects with a message that the model reads', async () => {
    paid.length = 0;
    const paused = await runToRest(t.engine, 'one');
    const done = await decideAndRest(t.engine, paused.id, { verdict: 'reject', message: 'Too much this month.' });
    expect(done).toMatchObject({ status: 'completed', output: 'call_pay=Too much this month.' });
    expect(paid).toEqual([]);
  });

  it('asks when a grant says ask, and not when the rule does not apply', async () => {
    paid.length = 0;
    expect(await runToRest(t.engine, 'small')).toMatchObject({ status: 'completed' });
    const paused = await runToRest(t.engine, 'asked');
    expect(paused.status).toBe('paused');
    const { items } = await t.engine.listInterruptions({ runId: paused.id, limit: 5 }, BOB);
    expect(items[0]).toMatchObject({
      kind: 'approval',
      tool: 'pay',
      arguments: { amount: 1 },
      reason: { code: 'grant_ask' },
    });
    expect(await decideAndRest(t.engine, paused.id, { verdict: 'approve' })).toMatchObject({ status: 'completed' });
    expect(paid).toEqual([5, 1]);
  });

  it('waits for every decision of a response; calls that need none run before', async () => {
    paid.length = 0;
    const paused = await runToRest(t.engine, 'two');
    expect(paused.interruptions).toHaveLength(2);
    expect(paid).toEqual([7]);
    const { items } = await t.engine.listInterruptions({ status: 'pending', runId: paused.id, limit: 5 }, BOB);
    const [first, second] = ['a', 'c'].map((id) => items.find((item) => item.callId === id)?.id ?? '');
    await t.engine.decide(second ?? '', { verdict: 'approve' }, BOB);
    expect(await t.engine.getRun(paused.id, ADMIN, { waitMs: 300 })).toMatchObject({
      status: 'paused',
      interruptions: [first],
    });
    await t.engine.decide(first ?? '', { verdict: 'reject', message: 'no' }, ADMIN);
    const done = await restOf(t.engine, paused.id);
    // The SDK shows the model results in the order in which they came to be.
    expect(done).toMatchObject({ status: 'completed', output: 'b={"paid":7} | a=no | c={"paid":300}' });
    expect(paid).toEqual([7, 300]);
  });

  describe('decisions', () => {
    it('repeated by the same actor get the same answer; others conflict', async () => {
      const paused = await runToRest(t.engine, 'one');
      const id = paused.interruptions[0] ?? '';
      const first = await t.engine.decide(id, { verdict: 'approve', message: 'fine' }, BOB);
      expect(first).toMatchObject({
        status: 'approved',
        decisions: [{ actor: 'bob', verdict: 'approve', message: 'fine' }],
      });
      expect(await t.engine.decide(id, { verdict: 'approve', message: 'fine' }, BOB)).toEqual(first);
      await expect(t.engine.decide(id, { verdict: 'reject' }, BOB)).rejects.toMatchObject({
        code: 'decision_conflict',
      });
      await expect(t.engine.decide(id, { verdict: 'approve', message: 'fine' }, ADMIN)).rejects.toMatchObject({
        code: 'decision_conflict',
      });
      await restOf(t.engine, paused.id);
    });

    it('are bound to what was asked', async () => {
      const paused = await runToRest(t.engine, 'one');
      const id = paused.interruptions[0] ?? '';
      await expect(t.engine.decide(id, { verdict: 'approve', digest: 'sha256:0' }, BOB)).rejects.toMatchObject({
        code: 'digest_mismatch',
      });
      await expect(t.engine.decide(id, { verdict: 'answer', value: 1 }, BOB)).rejects.toMatchObject({
        code: 'verdict_not_allowed',
      });
      await expect(t.engine.decide('int_none', { verdict: 'approve' }, BOB)).rejects.toMatchObject({
        code: 'interruption_unknown',
      });
      const elsewhere = { ...BOB, tenant: 'other' };
      await expect(t.engine.decide(id, { verdict: 'approve' }, elsewhere)).rejects.toMatchObject({
        code: 'interruption_unknown',
      });
      await t.engine.cancelRun(paused.id, null, ADMIN);
      await expect(t.engine.decide(id, { verdict: 'approve' }, BOB)).rejects.toMatchObject({
        code: 'interruption_cancelled',
      });
    });

    it('of fifty approvers at once settle once, and the call runs once', async () => {
      paid.length = 0;
      const paused = await runToRest(t.engine, 'one');
      const id = paused.interruptions[0] ?? '';
      const tries = await Promise.allSettled(
        Array.from({ length: 50 }, (_, n) =>
          t.engine.decide(id, n % 2 === 0 ? { verdict: 'approve' } : { verdict: 'reject' }, { ...BOB, actor: `a${n}` }),
        ),
      );
      expect(tries.filter((one) => one.status === 'fulfilled')).toHaveLength(1);
      expect(await restOf(t.engine, paused.id)).toMatchObject({ status: 'completed' });
      const kinds = await kindsOf(t.engine, paused.id);
      expect(kinds.filter((one) => one === 'interruption.decided')).toHaveLength(1);
      expect(paid.length).toBeLessThanOrEqual(1);
    });
  });

  it('expires durably, which is not a rejection', async () => {
    paid.length = 0;
    const paused = await runToRest(t.engine, 'short');
    const id = paused.interruptions[0] ?? '';
    await t.restart();
    await expect
      .poll(() => t.engine.getRun(paused.id, ADMIN))
      .toMatchObject({
        status: 'completed',
        output: 'call_pay=pay was not executed: no one approved it in time.',
      });
    expect(await t.engine.getInterruption(id, BOB)).toMatchObject({
      status: 'expired',
      decisions: [{ verdict: 'expire', actor: 'holdfast' }],
    });
    await expect(t.engine.decide(id, { verdict: 'approve' }, BOB)).rejects.toMatchObject({
      code: 'interruption_expired',
    });
    expect(paid).toEqual([]);
  });
});
