import { Agent, tool } from '@openai/agents';
import { expect, it } from 'vitest';
import { z } from 'zod';
import { type AgentDeclaration, defineAgent, defineTool } from '../../../src/index.js';
import { describeEachDatabase } from '../../harness/database.js';
import { ADMIN, decideAndRest, engineFor, eventsOf, kindsOf, restOf, runToRest } from '../../harness/engine.js';
import { call, say, scripted } from '../../harness/script.js';

const ran: string[] = [];

const echo = (name: string, extra: { capability?: string; fail?: boolean; maxOutputBytes?: number } = {}) =>
  defineTool({
    name,
    description: 'Echoes.',
    input: z.object({ text: z.string() }),
    output: z.object({ text: z.string() }),
    effect: 'pure',
    ...(extra.capability === undefined ? {} : { capabilities: () => [extra.capability ?? ''] }),
    ...(extra.maxOutputBytes === undefined ? {} : { maxOutputBytes: extra.maxOutputBytes }),
    execute: async ({ text }, { require, callId }) => {
      ran.push(callId);
      if (text === 'sneak') require('fs:read:/etc/passwd');
      if (extra.fail) throw new Error('the disk is on fire');
      await new Promise((resolve) => setTimeout(resolve, text === 'slow' ? 60 : 1));
      return { text };
    },
  });

const plain = tool({
  name: 'plain',
  description: 'A tool of a plain SDK program.',
  parameters: z.object({ n: z.number() }),
  needsApproval: async (_context, { n }) => n > 10,
  execute: async ({ n }) => {
    ran.push(`plain ${n}`);
    return `plain ${n}`;
  },
});

const agent = (
  name: string,
  outputs: Parameters<typeof scripted>[0],
  tools: Agent['tools'],
  more: Partial<AgentDeclaration> = { grants: ['tool:call:*'] },
) => defineAgent({ agent: new Agent({ name, model: scripted(outputs), tools }), ...more });

const three = [
  call('echo', { text: 'slow' }, 'c1'),
  call('echo', { text: 'x' }, 'c2'),
  call('echo', { text: 'y' }, 'c3'),
];

const config = {
  agents: [
    new Agent({ name: 'ungranted', model: scripted([[call('plain', { n: 1 })]]), tools: [plain] }),
    agent('plain', [[call('plain', { n: 1 }, 'p1')], [call('plain', { n: 11 }, 'p2')]], [plain]),
    agent('told', [[call('echo', { text: 'hi' })]], [echo('echo')], { grants: [], onDenied: 'tell' }),
    agent(
      'denied_sibling',
      [[call('echo', { text: 'a' }, 'c1'), call('other', { text: 'b' }, 'c2')]],
      [echo('echo'), echo('other')],
      {
        grants: ['tool:call:echo'],
      },
    ),
    agent('parallel', [three], [echo('echo')]),
    agent('sneaky', [[call('echo', { text: 'sneak' })]], [echo('echo')]),
    agent(
      'wrong',
      [
        [
          ...[call('echo', { txt: 1 }, 'c1'), call('echo', 'not json', 'c2'), call('echo', '[1]', 'c3')],
          call('echo', `${'{"text":'.repeat(20_000)}1${'}'.repeat(20_000)}`, 'c4'),
        ],
      ],
      [echo('echo')],
    ),
    agent('failing', [[call('echo', { text: 'a' })]], [echo('echo', { fail: true })]),
    agent('large', [[call('echo', { text: 'x'.repeat(500) })]], [echo('echo', { maxOutputBytes: 100 })]),
    agent('unknown', [[call('nothing', {})]], [echo('echo')]),
    agent('twice', [[call('echo', { text: 'a' }, 'c1'), call('echo', { text: 'b' }, 'c1')]], [echo('echo')]),
    defineAgent({
      agent: new Agent({
        name: 'structured',
        model: scripted([[say('{"city":"Ghent","people":3}')]]),
        outputType: z.object({ city: z.string(), people: z.number() }),
      }),
    }),
    defineAgent({
      agent: new Agent({
        name: 'unstructured',
        model: scripted([[say('no json')]]),
        outputType: z.object({ city: z.string() }),
      }),
    }),
  ],
};

describeEachDatabase('tools and grants', (kind) => {
  const t = engineFor(kind, config);

  it('nothing runs without a grant: the run stops, and the denial is in the log', async () => {
    ran.length = 0;
    const run = await runToRest(t.engine, 'ungranted');
    expect(run).toMatchObject({ status: 'failed', error: { code: 'capability_denied' } });
    expect(ran).toEqual([]);
    const items = await eventsOf(t.engine, run.id);
    expect(items.find((event) => event.kind === 'call.checked')?.data).toMatchObject({
      decision: 'deny',
      effect: 'unsafe',
      checks: [{ capability: 'tool:call:plain', effect: 'deny', rule: null }],
    });
  });

  it('a denial is told to the model where the agent says so', async () => {
    ran.length = 0;
    const run = await runToRest(t.engine, 'told');
    expect(run).toMatchObject({ status: 'completed', output: expect.stringContaining('Not allowed') });
    expect(ran).toEqual([]);
  });

  it('a denied call keeps its siblings from starting', async () => {
    ran.length = 0;
    expect(await runToRest(t.engine, 'denied_sibling')).toMatchObject({
      status: 'failed',
      error: { code: 'capability_denied' },
    });
    expect(ran).toEqual([]);
  });

  it('grants of a run narrow those of its agent and never widen them', async () => {
    const narrowed = await t.engine.startRun(
      { agent: 'parallel', input: 'go', grants: [{ capability: 'tool:call:echo', effect: 'deny' }] },
      ADMIN,
    );
    expect(await restOf(t.engine, narrowed.id)).toMatchObject({
      status: 'failed',
      error: { code: 'capability_denied' },
    });
    const wide = { agent: 'parallel', input: 'go', grants: ['fs:read:/etc/**'] };
    await expect(t.engine.startRun(wide, ADMIN)).rejects.toMatchObject({ code: 'grants_widened' });
  });

  it('a tool cannot do more than it was granted while it works', async () => {
    const run = await runToRest(t.engine, 'sneaky');
    expect(run).toMatchObject({ status: 'completed', output: expect.stringContaining('fs:read:/etc/passwd') });
    const items = await eventsOf(t.engine, run.id);
    expect(items.find((event) => event.kind === 'call.finished')?.data).toMatchObject({
      outcome: { type: 'refused', why: 'denied' },
    });
  });

  it('a plain SDK tool works unchanged, its approval callback too', async () => {
    ran.length = 0;
    const paused = await runToRest(t.engine, 'plain');
    expect(paused.status).toBe('paused');
    expect(ran).toEqual(['plain 1']);
    const done = await decideAndRest(t.engine, paused.id, { verdict: 'approve' });
    expect(done).toMatchObject({ status: 'completed', output: 'p1=plain 1 | p2=plain 11' });
    expect(ran).toEqual(['plain 1', 'plain 11']);
  });

  it('parallel calls start and are logged in the order of the model', async () => {
    ran.length = 0;
    const run = await runToRest(t.engine, 'parallel');
    expect(run).toMatchObject({
      status: 'completed',
      output: 'c1={"text":"slow"} | c2={"text":"x"} | c3={"text":"y"}',
    });
    const items = await eventsOf(t.engine, run.id);
    const idsOf = (kindName: string) =>
      items.filter((event) => event.kind === kindName).map((event) => (event.data as { callId: string }).callId);
    expect(idsOf('call.started')).toEqual(['c1', 'c2', 'c3']);
    expect(idsOf('call.finished')).toEqual(['c1', 'c2', 'c3']);
  });

  it('arguments that do not fit are told to the model, and the tool does not run', async () => {
    ran.length = 0;
    const run = await runToRest(t.engine, 'wrong');
    expect(run.status).toBe('completed');
    expect(run.output).toMatch(/c1=.*text.*c2=.*not valid JSON.*c3=.*c4=.*not valid JSON/s);
    expect(ran).toEqual([]);
  });

  it('a tool that throws, or says too much, is an error that the model reads', async () => {
    expect(await runToRest(t.engine, 'failing')).toMatchObject({
      status: 'completed',
      output: expect.stringContaining('the disk is on fire'),
    });
    expect(await runToRest(t.engine, 'large')).toMatchObject({
      status: 'completed',
      output: expect.stringContaining('its bound is 100'),
    });
  });

  it('an unknown tool ends the run by name, and nothing runs', async () => {
    ran.length = 0;
    expect(await runToRest(t.engine, 'unknown')).toMatchObject({ status: 'failed', error: { code: 'output_invalid' } });
    expect(ran).toEqual([]);
  });

  it('calls of one id in an answer get ids of their own, and each runs', async () => {
    ran.length = 0;
    expect(await runToRest(t.engine, 'twice')).toMatchObject({ status: 'completed' });
    expect(ran).toHaveLength(2);
  });

  it('structured output is the output of the run; output of another shape fails it', async () => {
    expect(await runToRest(t.engine, 'structured')).toMatchObject({
      status: 'completed',
      output: { city: 'Ghent', people: 3 },
    });
    expect(await runToRest(t.engine, 'unstructured')).toMatchObject({
      status: 'failed',
      error: { code: 'output_invalid' },
    });
  });

  it('every log verifies and every trajectory has its steps', async () => {
    const { items } = await t.engine.listRuns({ limit: 100 }, ADMIN);
    expect(items.length).toBeGreaterThan(10);
    for (const run of items) {
      expect(await t.engine.verifyRun(run.id, ADMIN)).toMatchObject({ ok: true, complete: true });
      const trajectory = await t.engine.getTrajectory(run.id, ADMIN);
      expect(trajectory.totalSteps).toBe(run.turns);
      expect(trajectory.steps.at(-1)?.done).toBe(true);
    }
    const parallel = items.find((run) => run.agent === 'parallel' && run.status === 'completed');
    const [first] = (await t.engine.getTrajectory(parallel?.id ?? '', ADMIN)).steps;
    expect(first).toMatchObject({ action: { calls: [{ callId: 'c1' }, { callId: 'c2' }, { callId: 'c3' }] } });
    expect(first?.observation.map((one) => one.callId)).toEqual(['c1', 'c2', 'c3']);
    expect(await kindsOf(t.engine, parallel?.id ?? '')).toHaveLength(16);
  });
});
