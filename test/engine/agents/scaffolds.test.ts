import { Agent } from '@openai/agents';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { JsonObject } from '../../../src/core/json.js';
import type { LogFields } from '../../../src/core/ops/log-record.js';
import { registerAgents } from '../../../src/engine/agents/agent-registry.js';
import { defineAgent, defineTool, functionModel, type HoldfastError, type Scaffold } from '../../../src/index.js';
import { ADMIN, dataOf, decideAndRest, engineFor, eventsOf, restOf, runToRest } from '../../harness/engine.js';
import { call, resultsIn, say, scripted } from '../../harness/script.js';
import { SLOW } from '../../harness/slow.js';

/** Scaffolds of the library's users, by the contract of src/core/agents/scaffold.ts. Those that work in containers are in their own files. */

const count = defineTool({
  ...{ name: 'count', description: 'Counts.', effect: 'pure', version: '1' },
  input: z.object({ to: z.int() }),
  output: z.object({ to: z.int(), noise: z.string() }),
  execute: ({ to }) => {
    if (to < 0) throw new Error('no such number');
    return { to, noise: 'z'.repeat(1000) };
  },
});
const careful = defineTool({
  ...{ name: 'careful', description: 'Counts when a person agrees.', effect: 'pure', approval: true },
  input: z.object({ to: z.int() }),
  output: z.object({ to: z.int(), noise: z.string() }),
  execute: ({ to }) => ({ to, noise: '' }),
});

const counting = (changes: Partial<Scaffold> = {}): Scaffold => ({
  ...{ name: 'counting', version: '2', tools: () => [count, careful] },
  step: ({ tool, arguments: args, outcome }) => ({
    actionTaken: { counted: (args as { to: number }).to },
    observation:
      outcome.type === 'output' ? `${tool}ed to ${(args as { to: number }).to}` : `wrong: ${outcome.message}`,
    reward: 0.25,
    done: (args as { to: number }).to === 3,
    info: { tool },
  }),
  // The first item, and the last call with its result.
  history: (items) => (items.length < 4 ? items : [...items.slice(0, 1), ...items.slice(-2)]),
  ...changes,
});

const to = (n: number, id = `c${n}`, tool = 'count') => call(tool, { to: n }, id);
const grants = ['tool:call:count', 'tool:call:careful'];
const seen: { agent: string; items: readonly JsonObject[]; tools: string[] }[] = [];

/** Counts on by what it was told, of which a scaffold may have left out what came before. */
const counter = (agent: string, tool = 'count') =>
  functionModel('counter', ({ input, tools }) => {
    seen.push({ agent, items: input as unknown as JsonObject[], tools: tools.map(({ name }) => name) });
    const last = resultsIn(input).at(-1)?.text ?? '0';
    const next = Number(/\d+/.exec(last)?.[0] ?? 0) + 1;
    return next > 6 ? [say('enough')] : [to(next, `c${next}`, tool)];
  });

const broken = (name: string, changes: Partial<Scaffold>) =>
  defineAgent({
    agent: new Agent({ name, model: scripted([[to(1)], [to(2)], [to(3)]]) }),
    ...{ grants, scaffold: counting(changes) },
  });

const config = {
  agents: [
    defineAgent({ agent: new Agent({ name: 'counter', model: counter('counter') }), grants, scaffold: counting() }),
    defineAgent({
      agent: new Agent({ name: 'careful', model: counter('careful', 'careful') }),
      ...{ grants, scaffold: counting() },
    }),
    defineAgent({
      agent: new Agent({ name: 'patient', model: scripted([[to(1), to(3)], [to(2)], [to(4)]]) }),
      grants,
      scaffold: counting({
        history: (items) => items,
        terminal: (steps) => steps.some(({ info }) => info['tool'] === 'count' && steps.length === 1),
      }),
    }),
    defineAgent({ agent: new Agent({ name: 'failing', model: scripted([[to(-1)]]) }), grants, scaffold: counting() }),
    broken('throws-step', {
      step: () => {
        throw new Error('out of words');
      },
    }),
    broken('odd-step', { step: () => ({ observation: 1 }) as never }),
    broken('huge-step', {
      history: (items) => items,
      step: () => ({ actionTaken: null, observation: 'x'.repeat(300_000), reward: null, done: false, info: {} }),
    }),
    broken('throws-history', { history: () => [] }),
    broken('cuts-history', { history: (items) => items.filter(({ type }) => type !== 'function_call') }),
    broken('half-history', { history: (items) => items.filter(({ type }) => type !== 'function_call_result') }),
    broken('throws-terminal', {
      terminal: () => {
        throw new Error('who knows');
      },
    }),
    defineAgent({ agent: new Agent({ name: 'plain', model: scripted([]), tools: [count] }), grants }),
  ],
};

describe('a scaffold', () => {
  const lines: LogFields[] = [];
  const silent = () => {};
  const log = { debug: silent, info: (fields: LogFields) => void lines.push(fields), warn: silent, error: silent };
  const t = engineFor('pglite', { ...config, turnsPerSegment: 1, log, logSteps: true });

  it('gives its tools, shapes what comes of calls, chooses what is shown, and ends the run', async () => {
    const run = await runToRest(t.engine, 'counter');
    expect(run).toMatchObject({ status: 'completed', output: 'counted to 3', turns: 3 });
    const mine = seen.filter(({ agent }) => agent === 'counter');
    expect(mine.map(({ items }) => items.length)).toEqual([1, 3, 3]);
    expect(mine[0]?.tools).toEqual(['count', 'careful']);
    expect(resultsIn(mine[2]?.items)).toEqual([{ callId: 'c2', text: 'counted to 2' }]);
    expect(await dataOf(t.engine, run.id, 'call.finished')).toMatchObject([
      { outcome: { output: 'counted to 1' }, step: { actionTaken: { counted: 1 }, reward: 0.25, done: false } },
      { step: { info: { tool: 'count' } } },
      { outcome: { output: 'counted to 3' }, step: { done: true } },
    ]);
    const requested = await dataOf(t.engine, run.id, 'model.requested');
    expect(requested.map(({ inputItems }) => inputItems)).toEqual([1, 3, 3]);
    expect(new Set(requested.map(({ inputDigest }) => inputDigest)).size).toBe(3);
    expect(await t.engine.verifyRun(run.id, ADMIN)).toMatchObject({ ok: true, complete: true });
  });

  it.runIf(SLOW)('is in the trajectory by its name, with what it gave for each step', async () => {
    const run = await runToRest(t.engine, 'counter');
    const trajectory = await t.engine.getTrajectory(run.id, ADMIN);
    expect(trajectory).toMatchObject({ scaffold: 'counting', totalSteps: 3, totalReward: null });
    expect(trajectory.steps.map(({ reward, done }) => [reward, done])).toEqual([
      ...[
        [0.25, false],
        [0.25, false],
        [0.25, true],
      ],
    ]);
    expect(trajectory.steps[1]?.observation).toMatchObject([{ callId: 'c2', step: { reward: 0.25 } }]);
    const [listed] = (await t.engine.listTrajectories({ limit: 1 }, ADMIN)).items;
    expect(listed).toMatchObject({ trajectoryId: run.id, scaffold: 'counting' });
    const plain = await runToRest(t.engine, 'plain');
    expect(await t.engine.getTrajectory(plain.id, ADMIN)).toMatchObject({ scaffold: 'holdfast' });
  });

  it.runIf(SLOW)('replays, and a replay says when another one stands there', async () => {
    const run = await runToRest(t.engine, 'counter');
    expect(await t.engine.replayRun(run.id, {}, ADMIN)).toMatchObject({ result: 'same' });
    const history = (items: readonly JsonObject[]) => items;
    const [first, ...others] = config.agents;
    if (first === undefined) throw new Error('there are agents');
    await t.restart({ agents: [{ ...first, scaffold: counting({ version: '3', history }) }, ...others] });
    const replayed = await t.engine.replayRun(run.id, {}, ADMIN);
    expect(replayed.result).toBe('diverged');
    expect(JSON.stringify(replayed)).toContain('inputDigest');
    await t.restart();
  });

  it.runIf(SLOW)('ends a run also when its last call had to be approved, in another process', async () => {
    const paused = await runToRest(t.engine, 'careful');
    await t.restart();
    await decideAndRest(t.engine, paused.id, { verdict: 'approve' });
    await decideAndRest(t.engine, paused.id, { verdict: 'approve' });
    const done = await decideAndRest(t.engine, paused.id, { verdict: 'approve' });
    expect(done).toMatchObject({ status: 'completed', output: 'carefuled to 3' });
    expect(await t.engine.verifyRun(paused.id, ADMIN)).toMatchObject({ ok: true });
  });

  it('has its rewards in the lines of steps, in events of the system, and summed up in the trajectory', async () => {
    const { nextCursor } = await t.engine.listSystemEvents({ after: 'now', limit: 1 }, ADMIN);
    const { id } = await runToRest(t.engine, 'counter');
    const told = lines.filter(({ component, runId }) => component === 'steps' && runId === id);
    expect(told.map(({ step, action, reward }) => [step, (action as { type: string }).type, reward])).toEqual(
      [1, 2, 3].flatMap((step) => [
        [step, 'model', null],
        [step, 'tool', 0.25],
      ]),
    );
    for (const { event, durationMs } of told)
      expect([event, Number.isInteger(durationMs)]).toEqual(['step_executed', true]);
    const filter = { runId: id, kind: 'step.executed' } as const;
    const { items } = await t.engine.listSystemEvents({ after: Number(nextCursor), limit: 50, ...filter }, ADMIN);
    expect(items.map(({ data }) => [data['step'], data['reward'], data['durationMs']])).toEqual(
      told.map(({ step, reward, durationMs }) => [step, reward, durationMs]),
    );
    await t.engine.rewardRun(id, { reward: 0.9 }, ADMIN);
    const { steps } = await t.engine.getTrajectory(id, ADMIN);
    expect(steps.map(({ rewardSoFar }) => rewardSoFar)).toEqual([0.25, 0.5, 0.9]);
  });

  it('decides by all calls of a response', async () => {
    const run = await runToRest(t.engine, 'patient');
    expect(run).toMatchObject({ status: 'completed', output: 'counted to 2' });
  });

  it('shapes what a tool failed with, which stays an error', async () => {
    const run = await runToRest(t.engine, 'failing');
    expect(await dataOf(t.engine, run.id, 'call.finished')).toMatchObject([
      { outcome: { type: 'error', code: 'tool_failed', message: 'wrong: count failed: no such number' } },
    ]);
  });

  it.each(['throws-step', 'odd-step', 'throws-history', 'cuts-history', 'half-history', 'throws-terminal'])(
    'what fails in it ends the run by name: %s',
    async (agent) => {
      const run = await runToRest(t.engine, agent);
      expect(run).toMatchObject({ status: 'failed', error: { code: 'scaffold_failed' } });
      expect(run.error?.message).toMatch(/(step|history|terminal) of the scaffold counting/);
    },
  );

  it('stays within the bounds of the tools', async () => {
    const run = await runToRest(t.engine, 'huge-step');
    expect((await dataOf(t.engine, run.id, 'call.finished'))[0]).toMatchObject({
      outcome: { type: 'error', code: 'payload_too_large' },
    });
  });

  it('a fork goes on with it', async () => {
    const run = await runToRest(t.engine, 'counter');
    const answers = await eventsOf(t.engine, run.id, 'model.responded');
    const fork = await t.engine.forkRun(run.id, { at: answers[1]?.seq ?? 0 }, ADMIN);
    expect(await restOf(t.engine, fork.id)).toMatchObject({ status: 'completed', output: 'counted to 3' });
    expect(await t.engine.getTrajectory(fork.id, ADMIN)).toMatchObject({ scaffold: 'counting' });
  });
});

describe('a scaffold that could not work is refused', () => {
  const refusal = (changes: object, scaffold: object, agent: object = {}): string => {
    const declared = {
      ...{ agent: new Agent({ name: 'a', model: 'm', ...agent }), grants, ...changes },
      scaffold: { ...counting(), ...scaffold },
    };
    try {
      registerAgents({ agents: [declared] });
      return 'it was taken';
    } catch (error) {
      const { code, message, hint } = error as HoldfastError;
      return `${code}: ${message} ${hint}`;
    }
  };

  it('names what is wrong', () => {
    expect(refusal({}, { name: 'No Name' })).toMatch(/^agent_invalid: The agent a: .*\/name must be/);
    expect(refusal({}, { extra: 1 })).toContain('agent_invalid');
    expect(refusal({}, { tools: () => [] })).toContain('has no tools');
    expect(refusal({}, { tools: () => [{ name: 'x' }] })).toContain('defineTool');
    expect(refusal({}, {}, { tools: [count] })).toContain('count of the scaffold counting is there twice');
    expect(refusal({}, {}, { toolUseBehavior: 'stop_on_first_tool' })).toContain('toolUseBehavior');
    expect(refusal({}, { grants: () => ['container:exec:shell'] })).toContain('works in a container');
  });

  it('names the grants that are missing, and takes a word on them', () => {
    const needs = () => ['container:exec:shell', 'container:read:/work/**', 'tool:call:count'];
    const environment = { image: 'i' };
    const said = refusal({ environment, grants: ['container:read:/work/src/**'] }, { grants: needs });
    expect(said).toContain('container:exec:shell, tool:call:count');
    expect(said).not.toContain('container:read');
    const denied = { capability: 'container:exec:shell', effect: 'deny' };
    const held = refusal({ environment, grants: ['container:read:/work/x', 'tool:call:*', denied] }, { grants: needs });
    expect(held).toBe('it was taken');
  });
});
