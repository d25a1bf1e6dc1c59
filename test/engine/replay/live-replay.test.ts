import { Agent, handoff } from '@openai/agents';
import type { Knex } from 'knex';
import { beforeAll, beforeEach, expect, it } from 'vitest';
import { z } from 'zod';
import { defineAgent, defineTool, type EngineConfig, functionModel, subAgent } from '../../../src/index.js';
import { describeEachDatabase } from '../../harness/database.js';
import { ADMIN, decideAndRest, engineFor, runToRest } from '../../harness/engine.js';
import { call, type Output, outputAfter, resultsIn, say, scripted } from '../../harness/script.js';
import { SLOW } from '../../harness/slow.js';

const input = z.object({ n: z.number() });

/** What tools, hooks and callbacks did. */
let effects: string[] = [];
const tool = (name: string, changes: object = {}) =>
  defineTool({
    ...{ name, description: `Does ${name}.`, input, output: z.string(), effect: 'unsafe' },
    execute: ({ n }) => {
      effects.push(`${name} ${n}`);
      return `${name} ${n} done`;
    },
    ...changes,
  });

const PAYS: Output[] = [
  [call('pay', { n: 1 }, 'a'), call('pay', { n: 2 }, 'b')],
  [call('wire', { n: 3 }, 'c')],
  [say('All is paid.')],
];
const DONE = 'All is paid.';

/** What the model of the clerk says today, or what it fails with. */
let says: Output[] | Error = PAYS;
let asked = 0;
const clerkModel = functionModel('clerk', ({ input }) => {
  asked++;
  if (says instanceof Error) throw says;
  return spoken(says, input);
});

/** The last output is what is said when all calls are answered. */
const spoken = (outputs: Output[], input: unknown): Output => {
  const last = outputs.at(-1) ?? [];
  const before = outputs.slice(0, -1);
  const next = outputAfter(before, input);
  return before.includes(next) ? next : last;
};

const clerk = new Agent({
  name: 'clerk',
  model: clerkModel,
  instructions: () => 'You pay.',
  tools: [tool('pay'), tool('wire', { approval: true }), tool('sum', { effect: 'pure' })],
});
const deskModel = functionModel('desk', ({ input }) =>
  resultsIn(input).some(({ callId }) => callId === 'd') ? [say('Done.')] : [call('pay', { n: 7 }, 'd')],
);
const desk = new Agent({ name: 'desk', model: deskModel, tools: [tool('pay')] });
const helper = new Agent({ name: 'helper', model: scripted([[call('pay', { n: 5 }, 'h')]]), tools: [tool('pay')] });
const boss = Agent.create({
  name: 'boss',
  instructions: () => {
    effects.push('instructions');
    return 'You have it done.';
  },
  model: scripted([
    [call('help', { input: 'pay 5' }, 'x')],
    [call('child', { input: 'go' }, 'y')],
    [call('transfer_to_desk', {}, 'z')],
  ]),
  tools: [helper.asTool({ toolName: 'help', toolDescription: 'Helps.' }), subAgent({ agent: 'child', name: 'child' })],
  handoffs: [handoff(desk, { onHandoff: () => void effects.push('handoff') })],
});
boss.on('agent_start', () => void effects.push('hook'));
const child = new Agent({ name: 'child', model: scripted([[call('pay', { n: 6 }, 'k')]]), tools: [tool('pay')] });

const grants = ['tool:call:*', { capability: 'tool:call:pay', effect: 'allow' as const, delegate: true }];
const CONFIG: EngineConfig = {
  agents: [clerk, boss, child].map((agent) => defineAgent({ agent, grants })),
  prices: { 'object/clerk': { inputPerMillion: '1', outputPerMillion: '1' } },
};

const TABLES = ['runs', 'events', 'run_heads', 'calls', 'snapshots', 'interruptions', 'decisions', 'timers', 'charges'];
async function stored(knex: Knex): Promise<unknown> {
  const rows: Record<string, unknown[]> = {};
  for (const table of TABLES) rows[table] = (await knex(`holdfast.${table}`)).map((row) => JSON.stringify(row)).sort();
  return rows;
}

describeEachDatabase('a replay that asks the models', (kind) => {
  const t = engineFor(kind, CONFIG);
  let paid: string;
  let before: unknown;

  beforeAll(async () => {
    says = PAYS;
    const paused = await runToRest(t.engine, 'clerk');
    const run = await decideAndRest(t.engine, paused.id, { verdict: 'approve' });
    expect(run).toMatchObject({ status: 'completed', output: DONE });
    paid = run.id;
    before = await t.between(stored);
  });
  beforeEach(() => {
    effects = [];
    asked = 0;
    says = PAYS;
  });

  const live = (request: object = {}, id = paid) => t.engine.replayRun(id, { liveModel: true, ...request }, ADMIN);

  it('says the same where the models do, with the recorded results and decisions', async () => {
    const report = await live();
    expect(report).toMatchObject({ mode: 'live_model', result: 'same', whole: true, differences: [], events: 3 });
    expect(report.live?.now).toMatchObject({ turns: 3, end: 'completed', output: DONE, unpriced: 0, error: null });
    expect(report.live?.now).toEqual(report.live?.recorded);
    expect(Number(report.live?.now.costUsd)).toBeGreaterThan(0);
    expect(asked).toBe(3);
    expect(effects).toEqual([]);
  });

  it('names what is said otherwise, and gives each call its own result in another order', async () => {
    says = [[call('pay', { n: 2 }, 'q')], [call('pay', { n: 1 }, 'r')], [call('wire', { n: 3 }, 's')], [say('Paid.')]];
    const { result, whole, differences, live: both, events } = await live();
    expect({ result, whole, events }).toEqual({ result: 'diverged', whole: true, events: 0 });
    expect(differences.map(({ what, field }) => `${what}${field}`)).toEqual([
      'model.responded of turn 1/calls',
      'model.responded of turn 2/calls',
      'model.responded of turn 3/text',
      'model.responded of turn 3/calls',
      'model.responded of turn 4',
      'run.completed/output',
    ]);
    expect(differences.at(-1)).toMatchObject({ expected: DONE, actual: 'Paid.' });
    expect(both).toMatchObject({ recorded: { turns: 3 }, now: { turns: 4, end: 'completed' }, stopped: null });
    expect(effects).toEqual([]);
  });

  it('ends at a call that was never recorded, and at one that was answered once already', async () => {
    says = [[call('pay', { n: 2 }, 'q')], [call('pay', { n: 2 }, 'r')], [say(DONE)]];
    const report = await live();
    expect(report).toMatchObject({ result: 'diverged', whole: false });
    expect(report.live?.stopped).toMatchObject({
      ...{ why: 'call_not_recorded', turn: 2, tool: 'pay', callId: 'r', arguments: { n: 2 }, unused: [{ n: 1 }] },
    });
    expect(report.live?.now).toMatchObject({ turns: 2, end: 'stopped', output: null });
    expect(effects).toEqual([]);
  });

  it('ends where a decision would be waited for', async () => {
    says = [[call('wire', { n: 4 }, 'w')], [say(DONE)]];
    const { live: both } = await live();
    expect(both?.stopped).toMatchObject({ why: 'undecided', tool: 'wire', arguments: { n: 4 }, unused: [{ n: 3 }] });
    expect(effects).toEqual([]);
  });

  it('executes a pure call that was not recorded where that is asked for', async () => {
    says = [[call('sum', { n: 4 }, 'w')], [say(DONE)]];
    const { live: both } = await live();
    expect(both?.stopped).toMatchObject({ why: 'call_not_recorded', text: expect.stringContaining('executePure') });
    expect(effects).toEqual([]);
    const executed = await live({ executePure: true });
    expect(executed).toMatchObject({ executed: 1, live: { stopped: null, now: { end: 'completed', turns: 2 } } });
    expect(effects).toEqual(['sum 4']);
  });

  it('says how a provider failed', async () => {
    says = Object.assign(new Error('no such key'), { status: 401 });
    const { result, live: both, reason } = await live();
    expect({ result, reason }).toEqual({ result: 'diverged', reason: null });
    expect(both?.now).toMatchObject({ turns: 0, end: 'failed', error: { code: expect.stringMatching(/^model_/) } });
    expect(asked).toBe(1);
  });

  it('asks no model for an answer that may cost more than is left', async () => {
    const none = await live({ maxUsd: '0.000000001' });
    expect(none.live).toMatchObject({ now: { turns: 0, costUsd: '0', end: 'stopped' }, stopped: { why: 'max_usd' } });
    expect(asked).toBe(0);
    const [, needed = ''] = /may cost (\S+) dollars/.exec(none.live?.stopped?.text ?? '') ?? [];
    const { live: both } = await live({ maxUsd: needed });
    expect(both).toMatchObject({
      now: { turns: 1, end: 'stopped' },
      stopped: { why: 'max_usd', turn: 2, text: expect.stringContaining('maxTokens') },
    });
    expect(asked).toBe(1);
    expect(await live({ maxUsd: '1' })).toMatchObject({ result: 'same' });
    const bad = [{ maxUsd: 'much' }, { liveModel: false, maxUsd: '1' }];
    for (const request of bad) await expect(live(request)).rejects.toMatchObject({ code: 'invalid_request' });
  });

  it.runIf(SLOW)('has nothing written so far', async () => {
    expect(await t.between(stored)).toEqual(before);
  });

  it('needs a bound of its own where a budget applies to the run', async () => {
    const { id } = await t.engine.startRun({ agent: 'clerk', input: 'go', budget: { usd: '1' } }, ADMIN);
    await t.engine.getRun(id, ADMIN, { waitMs: 20_000 });
    await expect(live({}, id)).rejects.toMatchObject({ fields: [{ pointer: '/maxUsd' }] });
    // It waits for its approval, and so does its replay.
    const report = await live({ maxUsd: '1' }, id);
    expect(report).toMatchObject({ result: 'same', whole: true, live: { recorded: { end: 'open' } } });
    expect(report.live?.stopped).toMatchObject({ why: 'undecided', arguments: { n: 3 } });
    await t.engine.cancelRun(id, null, ADMIN);
  });

  it('goes into agents behind tools, past runs below and handoffs, and has no effect in any', async () => {
    const { id } = await t.engine.startRun({ agent: 'boss', input: 'go' }, ADMIN);
    // It pauses for the run below.
    for await (const { kind } of t.engine.streamEvents(id, { after: 0, signal: new AbortController().signal }, ADMIN))
      if (kind === 'run.completed' || kind === 'run.failed') break;
    const run = await t.engine.getRun(id, ADMIN);
    expect(run).toMatchObject({ status: 'completed', output: 'Done.' });
    expect(effects).toEqual(expect.arrayContaining(['pay 5', 'pay 6', 'pay 7', 'handoff', 'hook']));
    const runs = (await t.engine.listRuns({ limit: 200 }, ADMIN)).items.length;
    effects = [];
    const report = await live({}, id);
    expect(report.differences).toEqual([]);
    expect(report).toMatchObject({ result: 'same', whole: true, live: { stopped: null, now: { end: 'completed' } } });
    expect(report.live?.now.unpriced).toBe(report.live?.now.turns);
    expect(new Set(effects)).toEqual(new Set(['instructions']));
    expect((await t.engine.listRuns({ limit: 200 }, ADMIN)).items.length).toBe(runs);
  });
});
