import { Agent } from '@openai/agents';
import { beforeEach, expect, it } from 'vitest';
import { z } from 'zod';
import { type Caller, defineAgent, defineTool, functionModel } from '../../../src/index.js';
import { describeEachDatabaseSlowly } from '../../harness/database.js';
import { ADMIN, dataOf, engineFor, pendingOf, restOf, runToRest } from '../../harness/engine.js';
import { call, resultsIn, say, scripted } from '../../harness/script.js';

/** Decisions about calls of agents behind tools: edits, several approvers, decisions that stand. */

const paid: object[] = [];
const pay = defineTool({
  name: 'pay',
  description: 'Pays.',
  input: z.object({ to: z.string(), amount: z.number() }),
  output: z.string(),
  capabilities: ({ to }) => [`bank:pay:${to}`],
  approval: true,
  approvals: 2,
  execute: (input) => {
    paid.push(input);
    return `paid ${input.amount}`;
  },
});

type Item = { readonly type?: string; readonly arguments?: string };
/** Pays so often, and then says with what arguments it reads that it called, and what came of it. */
const paying = (times: number) =>
  functionModel('paying', ({ input }) => {
    const results = resultsIn(input);
    if (results.length < times)
      return [call('pay', { to: 'alice', amount: 500 + results.length }, `p${results.length}`)];
    const calls = (Array.isArray(input) ? (input as Item[]) : []).filter((item) => item.type === 'function_call');
    return [say([...calls.map((item) => item.arguments), ...results.map(({ text }) => text)].join(' '))];
  });

const payer = (times: number) => new Agent({ name: 'payer', tools: [pay], model: paying(times) });
const asking = (name: string, toolName: string, behind: Agent) =>
  new Agent({
    name,
    tools: [behind.asTool({ toolName, toolDescription: 'Asks.' })],
    model: scripted([[call(toolName, { input: 'go' })]]),
  });
const granted = (agent: Agent) =>
  defineAgent({
    agent,
    grants: ['tool:call:*', 'bank:pay:alice', { capability: 'bank:pay:mallory', effect: 'deny' }],
  });

const config = {
  agents: [
    granted(asking('once', 'ask', payer(1))),
    granted(asking('twice', 'ask', payer(2))),
    granted(asking('deep', 'ask_middle', asking('middle', 'ask', payer(1)))),
  ],
};

const approver = (actor: string): Caller => ({ actor, role: 'approver', tenant: 'default' });
const approve = (args: { readonly to: string; readonly amount: unknown }) =>
  ({ verdict: 'approve', arguments: { ...args } as never }) as const;

describeEachDatabaseSlowly('decisions about calls of agents behind tools', (kind) => {
  const t = engineFor(kind, config);
  beforeEach(() => {
    paid.length = 0;
  });

  const paused = async (agent: string) => {
    const run = await runToRest(t.engine, agent);
    const waits = await pendingOf(t.engine, run.id, 'pay');
    expect(waits).toMatchObject({ agent: 'payer', requiredApprovals: 2, arguments: { to: 'alice', amount: 500 } });
    return { runId: run.id, id: waits?.id ?? '' };
  };
  const rest = (runId: string) => restOf(t.engine, runId);
  const checks = async (runId: string) =>
    (await dataOf(t.engine, runId, 'call.checked')).filter(({ tool }) => tool === 'pay');

  it.each(['once', 'deep'])(
    '%s: two people approve one edit, which the tool gets and the agent reads',
    async (agent) => {
      const { runId, id } = await paused(agent);
      const edit = approve({ to: 'alice', amount: 300 });
      expect(await t.engine.decide(id, edit, approver('ann'))).toMatchObject({ status: 'pending' });
      await t.restart();
      await expect(t.engine.decide(id, approve({ to: 'alice', amount: 400 }), approver('bea'))).rejects.toMatchObject({
        code: 'decision_conflict',
      });
      expect(paid).toEqual([]);
      const decided = await t.engine.decide(id, edit, approver('bea'));
      expect(decided.decisions).toMatchObject([{ actor: 'ann' }, { actor: 'bea' }]);
      const done = await rest(runId);
      expect(done).toMatchObject({
        status: 'completed',
        output: expect.stringContaining('{"amount":300,"to":"alice"} paid 300'),
      });
      expect(paid).toEqual([{ to: 'alice', amount: 300 }]);
      expect(await checks(runId)).toMatchObject([
        { decision: 'ask', arguments: { amount: 500 } },
        { arguments: { amount: 300 }, digest: decided.decisions[1]?.edit?.digest },
      ]);
      expect(await t.engine.verifyRun(runId, ADMIN)).toMatchObject({ ok: true, complete: true });
    },
  );

  it.each([
    ['do not fit the schema', { to: 'alice', amount: 'much' }, 'invalid', 'not valid'],
    ['need what is denied', { to: 'mallory', amount: 1 }, 'deny', 'Not allowed'],
  ])(
    'arguments that %s are refused when the call would run, and the agent reads why',
    async (_why, args, decision, says) => {
      const { runId, id } = await paused('once');
      await t.engine.decide(id, approve(args), approver('ann'));
      await t.engine.decide(id, approve(args), approver('bea'));
      expect(await rest(runId)).toMatchObject({ status: 'completed', output: expect.stringContaining(says) });
      expect(await checks(runId)).toMatchObject([{ decision: 'ask' }, { decision }]);
      expect(paid).toEqual([]);
      expect(await t.engine.verifyRun(runId, ADMIN)).toMatchObject({ ok: true, complete: true });
    },
  );

  it('one rejection settles, and the agent reads it', async () => {
    const { runId, id } = await paused('once');
    await t.engine.decide(id, approve({ to: 'alice', amount: 300 }), approver('ann'));
    await t.engine.decide(id, { verdict: 'reject', message: 'Not today.' }, approver('bea'));
    expect(await rest(runId)).toMatchObject({ status: 'completed', output: expect.stringContaining('Not today.') });
    expect(paid).toEqual([]);
  });

  it('a decision that stands covers later calls of the same agent', async () => {
    const { runId, id } = await paused('twice');
    await t.engine.decide(id, { verdict: 'approve', always: true }, approver('ann'));
    await t.engine.decide(id, { verdict: 'approve', always: true }, approver('bea'));
    expect(await rest(runId)).toMatchObject({ status: 'completed' });
    expect(paid).toEqual([
      { to: 'alice', amount: 500 },
      { to: 'alice', amount: 501 },
    ]);
    expect((await t.engine.listStandingDecisions(runId, { limit: 50 }, ADMIN)).items).toMatchObject([
      { agent: 'payer', tool: 'pay' },
    ]);
  });
});
