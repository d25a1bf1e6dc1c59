import { mkdtempSync, readFileSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Agent } from '@openai/agents';
import { afterAll, expect, it } from 'vitest';
import { z } from 'zod';
import { sha256 } from '../../../src/core/json.js';
import {
  defineAgent,
  defineTool,
  functionModel,
  type HoldfastConfig,
  subAgent,
  writeFileTool,
} from '../../../src/index.js';
import { describeEachDatabase } from '../../harness/database.js';
import { ADMIN, BOB, engineFor, eventsOf, restOf, runToRest } from '../../harness/engine.js';
import { inPieces } from '../../harness/in-pieces.js';
import { call, resultsIn, say, scripted } from '../../harness/script.js';
import { SLOW } from '../../harness/slow.js';

/** Records of real runs: how they ended, what they took over, whom they started. */

const input = z.object({ n: z.number() });
const look = defineTool({
  ...{ name: 'look', description: 'Looks.', input, output: z.string(), effect: 'pure' },
  execute: ({ n }) => {
    if (n < 0) throw new Error('there is nothing');
    return `saw ${n}`;
  },
});
const pay = defineTool({
  ...{ name: 'pay', description: 'Pays.', input, output: z.string(), approval: true },
  execute: ({ n }) => `paid ${n}`,
});
const mute = functionModel('mute', () => {
  throw new Error('no words');
});
const endless = functionModel('endless', ({ input: seen }) => [
  call('look', { n: 1 }, `call_${resultsIn(seen).length}`),
]);
const reasoning = {
  type: 'reasoning' as const,
  content: [],
  rawContent: [{ type: 'reasoning_text' as const, text: 'I should look.' }],
};
const thinking = functionModel('thinking', ({ input: seen }) =>
  resultsIn(seen).length === 0 ? [reasoning, say('I look.'), call('look', { n: 1 }, 'c1')] : [say('Done.')],
);
const inner = new Agent({
  ...{ name: 'inner', model: scripted([[call('look', { n: 5 }, 'i1')], [say('looked')]]), tools: [look] },
});

const grants = ['tool:call:*', { capability: 'tool:call:look', effect: 'allow' as const, delegate: true }];
const agent = (name: string, model: Agent['model'], tools: Agent['tools'] = [look, pay], more: object = {}) =>
  defineAgent({ agent: new Agent({ name, model, tools }), grants, ...more });
const messy = [
  [
    call('look', { n: 1 }, 'a'),
    call('look', { n: 1 }, 'b'),
    call('look', { n: 'x' }, 'c'),
    call('look', { n: -1 }, 'd'),
  ],
  [say('done')],
];

const scratch = mkdtempSync(join(realpathSync(tmpdir()), 'holdfast-written-'));
afterAll(() => rmSync(scratch, { recursive: true, force: true }));
const write = (name: string, content: string, id: string) =>
  call('write_file', { path: join(scratch, name), content }, id);
const writing = [
  [write('a', 'one', 'w1'), write('b', 'two', 'w2'), write('none/c', 'no', 'w3')],
  [write('a', 'three', 'w4')],
];

const config: HoldfastConfig = {
  agents: [
    agent('clean', scripted([[call('look', { n: 1 }, 'a')], [say('done')]])),
    agent('messy', scripted(messy)),
    agent('payer', scripted([[call('pay', { n: 5 }, 'p')], [say('done')]])),
    agent('mute', mute),
    agent('endless', endless, [look], { maxTurns: 3 }),
    agent('thinker', thinking),
    agent('talker', inPieces(thinking, 3), [look], { stream: true }),
    defineAgent({
      agent: new Agent({ name: 'writer', tools: [writeFileTool()], model: scripted(writing) }),
      grants: [`fs:write:${scratch}/**`],
    }),
    agent('boss', scripted([[call('work', { input: 'go' }, 'w')]]), [subAgent({ agent: 'clean', name: 'work' })]),
    agent('outer', scripted([[call('inner', { input: 'go' }, 'o')], [say('all done')]]), [
      inner.asTool({ toolName: 'inner', toolDescription: 'Works.' }),
    ]),
  ],
};

describeEachDatabase('records of runs', (kind) => {
  const t = engineFor(kind, { ...config, workerId: 'recorder' });
  const record = (id: string) => t.engine.getTrajectory(id, ADMIN);

  it('a completed run: state, action, observation, done and info of each step', async () => {
    const { id } = await t.engine.startRun(
      { agent: 'thinker', input: 'go', metadata: { taskId: 'look-1', tags: ['a', 'b', 'a', 7], seed: 42 } },
      ADMIN,
    );
    const run = await restOf(t.engine, id);
    const it = await record(id);
    expect(it).toMatchObject({
      ...{ trajectoryId: id, runId: id, taskId: 'look-1', tags: ['a', 'b'], seed: 42, parentRunId: null },
      ...{ agent: 'thinker', scaffold: 'holdfast', model: 'thinker', models: ['thinker'], status: 'completed' },
      ...{ timestamp: run.createdAt, completedAt: run.completedAt, usage: run.usage, output: 'Done.', error: null },
      ...{ result: { type: 'success', reward: null }, totalReward: null, verificationPassed: null, reward: null },
      ...{ totalSteps: 2, nextStep: null, scoreVersion: 1, diversityScore: null },
    });
    const log = await eventsOf(t.engine, id);
    expect(it.head).toEqual({ seq: log.length, hash: log.at(-1)?.hash });
    const asked = log.find((event) => event.kind === 'model.requested');
    expect(it.steps[0]).toMatchObject({
      ...{ step: 1, copied: false, done: false, reward: null },
      state: { hash: asked?.stateHashBefore, inputItems: 1, files: [], workingDirectory: null, exitCode: null },
      action: {
        type: 'tool',
        text: 'I look.',
        reasoning: 'I should look.',
        calls: [{ tool: 'look', decision: 'allow' }],
      },
      observation: [{ callId: 'c1', outcome: { type: 'output', output: 'saw 1' } }],
      info: { error: null, attempts: 1, worker: 'recorder' },
    });
    expect(it.steps[0]?.info.latencyMs).toBeGreaterThanOrEqual(0);
    expect(it.steps[1]).toMatchObject({ done: true, action: { type: 'message', text: 'Done.', calls: [] } });
  });

  it('names the files that were written before each step, as they were written last', async () => {
    const { id } = await runToRest(t.engine, 'writer');
    const { steps } = await record(id);
    const file = (name: string, content: string) => ({ path: join(scratch, name), digest: sha256(content) });
    expect(steps.map(({ state }) => state.files)).toEqual([
      [],
      [file('a', 'one'), file('b', 'two')],
      [file('b', 'two'), file('a', 'three')],
    ]);
    expect(readFileSync(join(scratch, 'a'), 'utf8')).toBe('three');
  });

  it('a streamed run is no other record', async () => {
    const said = async (name: string) =>
      (await record((await runToRest(t.engine, name)).id)).steps.map(({ action, observation }) => [
        ...[action.type, action.text, action.reasoning, action.calls.map(({ tool }) => tool)],
        observation,
      ]);
    expect(await said('talker')).toEqual(await said('thinker'));
  });

  it('each way to end has its result, and scores from what was counted', async () => {
    const of = async (name: string) => record((await runToRest(t.engine, name)).id);
    expect(await of('mute')).toMatchObject({
      result: { type: 'error', code: 'model_failed' },
      model: null,
      totalSteps: 1,
    });
    expect(await of('endless')).toMatchObject({
      ...{ status: 'failed', result: { type: 'failure' }, totalSteps: 3 },
      counts: { steps: 3, calls: 3, repeated: 2, invalid: 0 },
    });
    const clean = await of('clean');
    const messed = await of('messy');
    expect(messed.counts).toMatchObject({ steps: 2, calls: 4, repeated: 1, invalid: 1, failed: 1, refused: 0 });
    expect(messed.qualityScore).toBeLessThan(clean.qualityScore ?? 0);
  });

  it('a run that waits is a record so far; cancelled, it is a failure', async () => {
    const { id } = await runToRest(t.engine, 'payer');
    expect(await record(id)).toMatchObject({
      ...{ status: 'paused', result: null, completedAt: null, totalSteps: 1 },
      steps: [{ done: false, action: { calls: [{ tool: 'pay', decision: 'ask' }] }, observation: [] }],
    });
    await t.engine.cancelRun(id, 'Too dear.', ADMIN);
    expect(await record(id)).toMatchObject({
      ...{ status: 'cancelled', result: { type: 'failure', reason: 'Too dear.' } },
      steps: [{ done: true }],
    });
  });

  it('what a fork took over is marked, and not counted again', async () => {
    const source = await runToRest(t.engine, 'clean');
    const log = await eventsOf(t.engine, source.id);
    const at = log.find(({ kind: one }) => one === 'call.finished')?.seq ?? 0;
    const { id } = await t.engine.forkRun(source.id, { at }, ADMIN);
    await restOf(t.engine, id);
    const it = await record(id);
    expect(it).toMatchObject({ status: 'completed', forkedFrom: { runId: source.id, seq: at } });
    expect(it.steps.map(({ copied }) => copied)).toEqual([true, false]);
    expect(it.counts).toMatchObject({ steps: 1, copiedSteps: 1, calls: 0 });
  });

  it('a sub-agent has a record of its own, by the id that the call names', async () => {
    const { id } = await t.engine.startRun({ agent: 'boss', input: 'go' }, ADMIN);
    for (let run = await restOf(t.engine, id); run.status !== 'completed'; run = await restOf(t.engine, id))
      await new Promise((resolve) => setTimeout(resolve, 20));
    const { steps } = await record(id);
    const [step] = steps;
    const child = step?.action.calls[0]?.childRunId ?? '';
    expect(step?.observation).toMatchObject([{ callId: 'w', outcome: { type: 'output' } }]);
    expect(await record(child)).toMatchObject({ trajectoryId: child, parentRunId: id, agent: 'clean', totalSteps: 2 });
  });

  it('an outcome stands beside its call, also behind the steps of an agent as a tool', async () => {
    const { id } = await runToRest(t.engine, 'outer');
    const { steps } = await record(id);
    expect(steps.map(({ action }) => action.agent)).toEqual(['outer', 'inner', 'inner', 'outer']);
    expect(steps.map(({ observation }) => observation.map(({ callId }) => callId.slice(0, 1)))).toEqual([
      ['o'],
      ['i'],
      [],
      [],
    ]);
  });

  it('a page of steps names where the next one begins', async () => {
    const { id } = await runToRest(t.engine, 'clean');
    const page = (after: number) => t.engine.getTrajectory(id, ADMIN, { after, limit: 1 });
    expect(await page(0)).toMatchObject({ steps: [{ step: 1 }], nextStep: 1, totalSteps: 2 });
    expect(await page(1)).toMatchObject({ steps: [{ step: 2 }], nextStep: null, totalSteps: 2 });
    expect(await page(2)).toMatchObject({ steps: [], nextStep: null, totalSteps: 2 });
  });

  it('a reward is kept in versions, the last one counts, and the same again is none', async () => {
    const { id } = await runToRest(t.engine, 'clean');
    const give = (reward: number, more: object = {}, who = ADMIN) => t.engine.rewardRun(id, { reward, ...more }, who);
    const first = await give(0.5, {
      signals: { tests: 1, lint: 0 },
      verificationPassed: false,
      reason: 'It is untidy.',
    });
    expect(first).toMatchObject({ runId: id, version: 1, actor: 'ada', prevHash: null, intact: true });
    expect(first.head).toEqual((await record(id)).head);
    expect(await record(id)).toMatchObject({
      ...{ result: { type: 'partial_success', reward: 0.5, missing: ['lint'] }, totalReward: 0.5 },
      ...{ verificationPassed: false, reward: first, steps: [{ reward: null }, { reward: 0.5 }] },
    });
    expect(
      await give(0.5, { signals: { lint: 0, tests: 1 }, verificationPassed: false, reason: 'It is untidy.' }),
    ).toEqual(first);
    const second = await give(1, {}, BOB);
    expect(second).toMatchObject({ version: 2, actor: 'bob', prevHash: first.hash, verificationPassed: null });
    expect(await give(1)).toMatchObject({ version: 3, actor: 'ada' });
    expect(await record(id)).toMatchObject({ result: { type: 'success', reward: 1 }, totalReward: 1 });
    const { items, nextCursor } = await t.engine.listRewards(id, { after: 0, limit: 2 }, ADMIN);
    expect([items, nextCursor]).toEqual([[first, second], '2']);
    await expect(t.engine.rewardRun(id, { reward: Number.NaN }, ADMIN)).rejects.toMatchObject({
      code: 'invalid_request',
    });
    await expect(t.engine.rewardRun('run_x', { reward: 1 }, ADMIN)).rejects.toMatchObject({ code: 'run_unknown' });
    const other = { ...ADMIN, tenant: 'elsewhere' };
    for (const verb of [() => t.engine.rewardRun(id, { reward: 1 }, other), () => t.engine.getTrajectory(id, other)])
      await expect(verb()).rejects.toMatchObject({ code: 'run_unknown' });
  });

  it('many rewards at once are a chain without a gap', async () => {
    const { id } = await runToRest(t.engine, 'clean');
    await Promise.all([1, 2, 3, 4, 5, 6].map((n) => t.engine.rewardRun(id, { reward: n / 10 }, ADMIN)));
    const { items } = await t.engine.listRewards(id, { after: 0, limit: 10 }, ADMIN);
    expect(items.map(({ version }) => version)).toEqual([1, 2, 3, 4, 5, 6]);
    expect(items.map(({ prevHash }) => prevHash)).toEqual([null, ...items.slice(0, -1).map(({ hash }) => hash)]);
    expect(items.every(({ intact }) => intact)).toBe(true);
  });

  it.runIf(SLOW)(
    'a reward that was changed behind the back of the engine is not intact, nor what follows a gap',
    async () => {
      const rewarded = async () => {
        const { id } = await runToRest(t.engine, 'clean');
        for (const reward of [0.1, 0.2, 0.3]) await t.engine.rewardRun(id, { reward }, ADMIN);
        return id;
      };
      const [other, gap, begun] = [await rewarded(), await rewarded(), await rewarded()];
      await t.between(async (knex) => {
        const row = (id: string, version: number) => knex('holdfast.rewards').where({ run_id: id, version });
        await row(other, 3).update({ data: '{"reason":null,"reward":1,"signals":{},"verificationPassed":null}' });
        await row(gap, 2).delete();
        await row(begun, 1).update({ actor: 'eve' });
      });
      const intact = async (id: string) =>
        (await t.engine.listRewards(id, { after: 0, limit: 10 }, ADMIN)).items.map((one) => one.intact);
      expect(await intact(other)).toEqual([true, true, false]);
      expect(await intact(gap)).toEqual([true, false]);
      expect((await intact(begun))[0]).toBe(false);
    },
  );
});
