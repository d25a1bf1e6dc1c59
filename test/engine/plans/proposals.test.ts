import { Agent } from '@openai/agents';
import { expect, it } from 'vitest';
import { z } from 'zod';
import { defineAgent, defineTool, functionModel, planProposals } from '../../../src/index.js';
import { describeEachDatabase } from '../../harness/database.js';
import { ADMIN, BOB, dataOf, engineFor, eventsOf, pendingOf, restOf, runToRest } from '../../harness/engine.js';
import { call, outputAfter, resultsIn, say } from '../../harness/script.js';

/** Plans that agents propose: checked, approved as a whole, executed without further approvals, and asked for again beyond that. */

const paid: string[] = [];
let price = 0;
const ok = { description: 'A tool of the test.' };
const order = defineTool({
  ...{ ...ok, name: 'order', input: z.object({ id: z.string() }), output: z.object({ cents: z.int() }) },
  effect: 'pure',
  execute: () => ({ cents: price }),
});
const pay = defineTool({
  ...{ ...ok, name: 'pay', input: z.object({ to: z.string(), cents: z.int() }), output: z.object({ to: z.string() }) },
  approval: ({ to }) => `Pay ${to}?`,
  execute: ({ to, cents }, { callId }) => {
    paid.push(`${callId} ${to} ${cents}`);
    return { to };
  },
});

/** Tools whose approval a plan does not stand in for: two people, and others than the requester. */
const strict = [
  { name: 'pair', approvals: 2, separateRequester: false },
  { name: 'apart', separateRequester: true },
].map((terms) =>
  defineTool({ ...ok, ...terms, input: z.object({}), output: z.string(), approval: true, execute: () => terms.name }),
);

const passed = (capability: string) => ({ capability, effect: 'allow' as const, delegate: true });
const tools = [order, pay, ...strict];
const grants = [
  'tool:call:order',
  'tool:call:pair',
  'tool:call:apart',
  { capability: 'tool:call:pay', effect: 'ask' as const },
  'human:ask:approval',
];
const one = planProposals({ name: 'one runner', tools, grants });
const two = planProposals({ name: 'two runner', tools, grants, approvals: 2, toolName: 'propose_to_two' });

const plan = (nodes: object): string => JSON.stringify({ nodes, output: { $from: '/nodes/pay/to' } });
const bounds = {
  type: 'object',
  properties: { to: { const: 'ada' }, cents: { type: 'integer', maximum: 100 } },
  required: ['to', 'cents'],
};
const read = { type: 'tool', tool: 'order', arguments: { id: 'o1' } };
const paying = { type: 'tool', tool: 'pay', arguments: { to: 'ada', cents: { $from: '/nodes/order/cents' } } };
const BOUNDED = plan({ order: read, pay: { ...paying, bounds } });
const OPEN = plan({ pay: paying, order: read });
const FIXED = plan({ pay: { type: 'tool', tool: 'pay', arguments: { to: { $from: '/input' }, cents: 7 } } });
const ASKED = plan({
  sure: { type: 'ask', approval: 'Really?' },
  pay: { type: 'tool', tool: 'pay', after: ['sure'], arguments: { to: 'ada', cents: 1 } },
});

const told: string[] = [];
const planner = (
  name: string,
  proposals: readonly object[],
  {
    tool,
    passes = tools.map((tool) => passed(`tool:call:${tool.name}`)),
  }: {
    readonly tool: typeof one.tool;
    readonly passes?: readonly (string | ReturnType<typeof passed>)[];
  },
) =>
  defineAgent({
    agent: new Agent({
      ...{ name, tools: [tool] },
      model: functionModel(name, async ({ input }) => {
        told.push(...resultsIn(input).map(({ text }) => text));
        const script = proposals.map((given, index) => [call(tool.name, given, `p${index}`)]);
        return outputAfter([...script, [say('done')]], input);
      }),
    }),
    grants: [`tool:call:${tool.name}`, ...passes, passed('human:ask:approval')],
  });

describeEachDatabase('plans that agents propose', (kind) => {
  const test = engineFor(kind, {
    agents: [
      ...[one.runner, two.runner],
      planner(
        'careless',
        [{ plan: '{' }, { plan: plan({ pay: { type: 'tool', tool: 'steal' } }) }, { plan: FIXED, input: 'ada' }],
        one,
      ),
      planner('bounded', [{ plan: BOUNDED }], one),
      planner('open', [{ plan: OPEN }], one),
      planner('asking', [{ plan: ASKED }], one),
      ...strict.map(({ name }) =>
        planner(name, [{ plan: JSON.stringify({ nodes: { go: { type: 'tool', tool: name } } }) }], one),
      ),
      planner(
        'twice',
        [
          { plan: FIXED, input: 'ada' },
          { plan: FIXED, input: 'eve' },
        ],
        one,
      ),
      planner('quorum', [{ plan: FIXED, input: 'ada' }], two),
      planner('keeper', [{ plan: FIXED, input: 'ada' }], { tool: one.tool, passes: ['tool:call:pay'] }),
    ],
  });

  const settle = async (runId: string, tool: string, decision: Parameters<typeof test.engine.decide>[1], by = BOB) => {
    const item = await pendingOf(test.engine, runId, tool);
    if (item === undefined) throw new Error(`nothing of ${tool} waits in ${runId}`);
    await test.engine.decide(item.id, decision, by);
    return item;
  };
  const childOf = async (runId: string): Promise<string> =>
    (await dataOf(test.engine, runId, 'child.started')).at(-1)?.['childRunId'] as string;
  /** Waits until the child of a run waits for an approval of a call. */
  const waitsIn = async (child: string, tool: string) => {
    await restOf(test.engine, child);
    return pendingOf(test.engine, child, tool);
  };
  /** Waits until a run that waits for its child is over. */
  const endOf = async (runId: string) => {
    for (;;) {
      const run = await test.engine.getRun(runId, ADMIN);
      if (!['queued', 'running', 'paused'].includes(run.status)) return run;
      await new Promise((resolve) => setTimeout(resolve, 30));
    }
  };

  it('are refused to the model until they are valid, and then executed as people approved them', async () => {
    paid.length = told.length = 0;
    const { id } = await runToRest(test.engine, 'careless');
    const refused = told.join('\n');
    expect(refused).toContain('JSON');
    expect(refused).toContain('/nodes/pay/tool: there is no tool steal; the plan has: order, pay, pair, apart');
    const item = await settle(id, 'propose_plan', { verdict: 'approve' });
    expect(item.reason).toMatchObject({ text: expect.stringContaining('Nodes: pay (pay).') });
    expect(await endOf(id)).toMatchObject({ status: 'completed' });
    expect(paid).toEqual(['pay ada 7']);
    expect(told.at(-1)).toContain('ada');

    const child = await childOf(id);
    const [created] = await dataOf(test.engine, child, 'run.created');
    const [checked] = await dataOf(test.engine, child, 'call.checked');
    const { digest } = z.object({ digest: z.string() }).parse(created?.['approvedPlan']);
    expect(created?.['approvedPlan']).toEqual({ runId: child, digest, by: ['bob'] });
    expect(checked).toMatchObject({ decision: 'allow', approvedPlan: { digest, by: ['bob'] } });
    expect(item.reason).toMatchObject({ text: expect.stringContaining(digest) });
    for (const run of [id, child]) {
      expect(await test.engine.verifyRun(run, ADMIN)).toMatchObject({ ok: true, complete: true });
      expect(await test.engine.replayRun(run, {}, ADMIN)).toMatchObject({ differences: [] });
    }
  });

  it('ask again for a call beyond their bounds, for one without bounds, and for what a node asks', async () => {
    paid.length = 0;
    price = 100;
    const within = await runToRest(test.engine, 'bounded');
    await settle(within.id, 'propose_plan', { verdict: 'approve' });
    expect(await endOf(within.id)).toMatchObject({ status: 'completed' });
    expect(paid).toEqual(['pay ada 100']);

    price = 101;
    for (const agent of ['bounded', 'open']) {
      const { id } = await runToRest(test.engine, agent);
      const item = await settle(id, 'propose_plan', { verdict: 'approve' });
      // A digest knows no order, nor does what is said of a plan.
      expect(item.reason.text).toContain('Nodes: order (order), pay (pay).');
      await restOf(test.engine, id);
      const child = await childOf(id);
      expect(await waitsIn(child, 'pay')).toMatchObject({ arguments: { cents: 101 } });
      await settle(child, 'pay', { verdict: 'reject', message: 'too much' });
      expect(await endOf(child)).toMatchObject({ status: 'failed', error: { code: 'plan_failed' } });
      expect(await endOf(id)).toMatchObject({ status: 'completed' });
      expect(told.at(-1)).toContain('plan_failed');
    }
    const { id } = await runToRest(test.engine, 'asking');
    await settle(id, 'propose_plan', { verdict: 'approve' });
    await restOf(test.engine, id);
    expect(await waitsIn(await childOf(id), 'approve')).toMatchObject({ arguments: { what: 'Really?' } });
    expect(paid).toHaveLength(1);
  });

  it('are approved one by one: a decision that stands is of no plan, and each revision has its own digest', async () => {
    const { id } = await runToRest(test.engine, 'twice');
    await settle(id, 'propose_plan', { verdict: 'approve', always: true });
    await restOf(test.engine, id);
    while ((await dataOf(test.engine, id, 'child.started')).length < 2) await new Promise((go) => setTimeout(go, 30));
    const second = await childOf(id);
    expect(await waitsIn(second, 'pay')).toMatchObject({ arguments: { to: 'eve' } });
    expect((await dataOf(test.engine, second, 'run.created'))[0]).not.toHaveProperty('approvedPlan');
  });

  it.each(strict.map(({ name }) => name))('ask again for a tool that takes more or other people: %s', async (name) => {
    const { id } = await runToRest(test.engine, name);
    await settle(id, 'propose_plan', { verdict: 'approve' });
    await restOf(test.engine, id);
    expect(await waitsIn(await childOf(id), name)).toBeDefined();
  });

  it('take as many people as they are declared to', async () => {
    paid.length = 0;
    const { id } = await runToRest(test.engine, 'quorum');
    await settle(id, 'propose_to_two', { verdict: 'approve' });
    expect(await test.engine.getRun(id, ADMIN)).toMatchObject({ status: 'paused' });
    await settle(id, 'propose_to_two', { verdict: 'approve' }, { ...BOB, actor: 'bea' });
    expect(await endOf(id)).toMatchObject({ status: 'completed' });
    expect((await dataOf(test.engine, await childOf(id), 'run.created'))[0]).toMatchObject({
      approvedPlan: { by: ['bob', 'bea'] },
    });
  });

  it('are not approved in a fork, and not where a person starts one', async () => {
    paid.length = 0;
    const { id } = await runToRest(test.engine, 'careless');
    await settle(id, 'propose_plan', { verdict: 'approve' });
    await endOf(id);
    const child = await childOf(id);
    const begun = (await eventsOf(test.engine, child, 'segment.started'))[0]?.seq ?? 0;
    const fork = await test.engine.forkRun(child, { at: begun }, ADMIN);
    expect(await restOf(test.engine, fork.id)).toMatchObject({ status: 'paused' });
    expect(await pendingOf(test.engine, fork.id, 'pay')).toBeDefined();
    expect(await test.engine.verifyRun(fork.id, ADMIN)).toMatchObject({ ok: true });
    // Judged in the source and not begun: it is judged again.
    const checked = (await eventsOf(test.engine, child, 'call.checked'))[0]?.seq ?? 0;
    const later = await test.engine.forkRun(child, { at: checked }, ADMIN);
    expect(await restOf(test.engine, later.id)).toMatchObject({ status: 'paused' });
    expect(paid).toHaveLength(1);

    const input = JSON.stringify({ plan: JSON.parse(FIXED), input: 'ada' });
    expect(await runToRest(test.engine, 'one runner', input)).toMatchObject({ status: 'paused' });
    await expect(runToRest(test.engine, 'one runner', 'go')).rejects.toMatchObject({ code: 'plan_invalid' });
  });

  it('have no more than the agent that proposes them may pass on', async () => {
    const { id } = await runToRest(test.engine, 'keeper');
    await settle(id, 'propose_plan', { verdict: 'approve' });
    expect(await endOf(id)).toMatchObject({ status: 'completed' });
    expect(told.at(-1)).toContain('may not pass on (delegate): tool:call:pay');
  });
});

it('are not taken where two agents that they may run have one tool', () => {
  const agents = ['Pay Bot', 'pay-bot'].map((name) => defineAgent({ agent: new Agent({ name }) }));
  expect(() => planProposals({ name: 'plans', agents })).toThrow('two tools have the name run_pay_bot');
});
