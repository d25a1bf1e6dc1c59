import { Agent } from '@openai/agents';
import { expect, it } from 'vitest';
import type { SubmitTask } from '../../../src/core/tasks/task.js';
import { askHumanTool, defineAgent, functionModel } from '../../../src/index.js';
import { describeEachDatabase } from '../../harness/database.js';
import { ADMIN, engineFor, eventsOf, restOf } from '../../harness/engine.js';
import { call, scripted } from '../../harness/script.js';
import { SLOW } from '../../harness/slow.js';

/** Tasks as rows: submission, lists, cancellation, what becomes of one whose run ends without a container. */

const OTHER = { ...ADMIN, tenant: 'elsewhere' };
const mute = functionModel('mute', () => {
  throw new Error('no words');
});
const AGENTS = [
  defineAgent({ agent: new Agent({ name: 'mute', model: mute }), maxTurns: 5 }),
  defineAgent({
    agent: new Agent({
      name: 'asker',
      model: scripted([[call('ask_human', { question: 'On?' }, 'ask')]]),
      tools: [askHumanTool()],
    }),
    grants: ['human:ask:question'],
  }),
];

const definition = {
  ...{ name: 'add-up', version: '1.0.0', category: 'math', difficulty: 'easy' as const, tags: ['sums'] },
  instruction: 'Add {{a}} and 2.',
  environment: { image: 'holdfast-test/busybox:1' },
  verification: { tests: [{ name: 'adds', command: 'true' }] },
  parameters: { a: { type: 'integer' as const, default: 1 } },
  ...{ maxTurns: 7, timeoutSeconds: 60 },
};
const submission = (changes: Partial<SubmitTask> = {}): SubmitTask => ({ task: definition, agent: 'mute', ...changes });

describeEachDatabase('tasks', (kind) => {
  const t = engineFor(kind, { agents: AGENTS, retries: { most: 0 }, rewards: { half: () => ({ reward: 0.5 }) } });
  const submit = (changes: Partial<SubmitTask> = {}, key?: string) =>
    t.engine.submitTask(submission(changes), ADMIN, key);
  const over = async (changes: Partial<SubmitTask> = {}) => {
    const { id, runId } = await submit(changes);
    await restOf(t.engine, runId);
    return t.engine.getTask(id, ADMIN);
  };
  const idsOf = async (filter: Partial<Parameters<typeof t.engine.listTasks>[0]>, caller = ADMIN) =>
    (await t.engine.listTasks({ limit: 50, ...filter }, caller)).items.map(({ id }) => id);
  const codeOf = (work: Promise<unknown>) =>
    work.then(
      () => 'none',
      (error: { code: string; fields: { pointer: string }[] }) =>
        [error.code, ...error.fields.map(({ pointer }) => pointer)].join(' '),
    );

  it('is a run of its agent with its instruction and limits, and has the result of that run', async () => {
    const submitted = await submit({ parameters: { a: 5 }, seed: 3, priority: 9, metadata: { team: 'red' } });
    expect(submitted).toMatchObject({
      ...{ name: 'add-up', version: '1.0.0', category: 'math', difficulty: 'easy', tags: ['sums'], agent: 'mute' },
      ...{ parameters: { a: 5 }, seed: 3, image: null, rewardFunction: null, priority: 9, attempts: 1, result: null },
      completedAt: null,
    });
    const run = await restOf(t.engine, submitted.runId);
    expect(run).toMatchObject({
      ...{ input: 'Add 5 and 2.', agent: 'mute', status: 'failed' },
      // The agent has less turns than the task would give.
      limits: { maxTurns: 5, maxDurationMs: 60_000 },
      metadata: { team: 'red', taskId: 'add-up@1.0.0', tags: ['sums'], seed: 3, taskType: 'math' },
    });
    const ended = await t.engine.getTask(submitted.id, ADMIN);
    expect(ended).toMatchObject({
      status: 'failed',
      result: { type: 'error' },
      reward: null,
      verificationPassed: null,
    });
    expect(ended.completedAt).not.toBeNull();
    expect(await t.engine.getTrajectory(run.id, ADMIN)).toMatchObject({ taskId: 'add-up@1.0.0', result: ended.result });
    expect((await eventsOf(t.engine, run.id)).map(({ kind: what }) => what)).not.toContain('task.verified');
  });

  it('what is said of the run later is said of the task', async () => {
    const task = await over();
    await t.engine.rewardRun(task.runId, { reward: 0.25, signals: { tests: 0.5 } }, ADMIN);
    expect(await t.engine.getTask(task.id, ADMIN)).toMatchObject({
      ...{ status: 'failed', reward: 0.25, completedAt: task.completedAt },
      result: { type: 'partial_success', missing: ['completion', 'tests'] },
    });
  });

  it('the same key and request is the same task, another request is refused, and a known definition has a name', async () => {
    const first = await submit({}, 'k1');
    expect((await submit({}, 'k1')).id).toBe(first.id);
    expect(await codeOf(submit({ seed: 1 }, 'k1'))).toBe('idempotency_key_reused');
    const named = await submit({ task: { name: 'add-up', version: '1.0.0' } });
    expect([named.definitionHash, named.id === first.id]).toEqual([first.definitionHash, false]);
    const changed = { ...definition, instruction: 'Add {{a}} and 3.' };
    await expect(submit({ task: changed })).rejects.toMatchObject({
      ...{ code: 'task_definition_taken', status: 409 },
      fields: [{ pointer: '/instruction', detail: expect.stringContaining('was "') }],
    });
    const other = await submit({ task: { ...changed, version: '1.0.1' } });
    expect(other.definitionHash).not.toBe(first.definitionHash);
    expect((await submit({ task: { ...definition, createdAt: '2026-01-01T00:00:00Z' } })).definitionHash).toBe(
      first.definitionHash,
    );
    expect((await submit({ task: { name: 'add-up', version: '1.0.0' } })).definitionHash).toBe(first.definitionHash);
    await expect(
      t.engine.submitTask(submission({ task: { name: 'add-up', version: '1.0.0' } }), OTHER),
    ).rejects.toThrow('There is no definition');
  });

  it('bad requests name what is wrong, and leave nothing', async () => {
    const before = await idsOf({});
    const runIds = async () => (await t.engine.listRuns({ limit: 200 }, ADMIN)).items.map(({ id }) => id);
    const runs = await runIds();
    expect(await codeOf(submit({ agent: 'nobody' }))).toBe('agent_unknown /agent');
    expect(await codeOf(submit({ task: { name: 'add-up', version: '9.9.9' } }))).toBe('task_definition_unknown /task');
    expect(await codeOf(submit({ parameters: { a: 'x', b: 1 } }))).toBe(
      'task_parameters_invalid /parameters/b /parameters/a',
    );
    expect(await codeOf(submit({ reward: 'none' }))).toBe('reward_unknown /reward');
    expect(await codeOf(submit({ image: '' }))).toBe('invalid_request /image');
    expect(await codeOf(submit({ metadata: { text: 'x'.repeat(20_000) } }))).toBe('payload_too_large /metadata');
    const bad = { ...definition, difficulty: 'none' } as unknown as typeof definition;
    expect(await codeOf(submit({ task: bad }))).toBe('invalid_request /task/difficulty');
    expect(await codeOf(t.engine.getTask('task_none', ADMIN))).toBe('task_unknown');
    expect(await codeOf(t.engine.cancelTask('task_none', null, ADMIN))).toBe('task_unknown');
    expect(await idsOf({})).toEqual(before);
    expect(await runIds()).toEqual(runs);
  });

  it('every filter narrows, pages follow each other, and only the tenant of the caller is there', async () => {
    const named = (name: string, changes: object = {}) => ({ ...definition, name, ...changes });
    const a = await over({ task: named('list-a', { tags: ['x', 'y'] }) });
    const b = await over({ task: named('list-b', { category: 'words', tags: ['x'] }) });
    const c = await submit({ task: named('list-b', { difficulty: 'hard', version: '1.0.1' }), agent: 'asker' });
    expect((await restOf(t.engine, c.runId)).status).toBe('paused');
    const foreign = await t.engine.submitTask(submission({ task: named('list-a') }), OTHER);
    expect(await idsOf({ name: 'list-b' })).toEqual([c.id, b.id]);
    expect(await idsOf({ tag: 'x' })).toEqual([b.id, a.id]);
    expect(await idsOf({ tag: 'y', result: 'error', status: 'failed' })).toEqual([a.id]);
    expect(await idsOf({ category: 'words' })).toEqual([b.id]);
    expect(await idsOf({ difficulty: 'hard' })).toEqual([c.id]);
    expect(await idsOf({ status: 'paused' })).toEqual([c.id]);
    expect(await idsOf({ agent: 'asker', status: 'queued' })).toEqual([]);
    expect(await idsOf({}, OTHER)).toEqual([foreign.id]);
    expect(await codeOf(t.engine.getTask(foreign.id, ADMIN))).toBe('task_unknown');
    const first = await t.engine.listTasks({ limit: 2, tag: 'x' }, ADMIN);
    expect(first).toMatchObject({ items: [{ id: b.id }, { id: a.id }], nextCursor: null });
    const one = await t.engine.listTasks({ limit: 1, tag: 'x' }, ADMIN);
    const next = await t.engine.listTasks({ limit: 1, tag: 'x', cursor: one.nextCursor ?? '' }, ADMIN);
    expect(next).toMatchObject({ items: [{ id: a.id }], nextCursor: null });
  });

  it('lists narrow by reward, and by the scores of the last run', async () => {
    const [low, high, none] = [await over(), await over(), await over()];
    const among = async (filter: Parameters<typeof idsOf>[0]) =>
      (await idsOf(filter)).filter((id) => [low.id, high.id, none.id].includes(id));
    await t.engine.rewardRun(low.runId, { reward: -0.5 }, ADMIN);
    await t.engine.rewardRun(high.runId, { reward: 0.75 }, ADMIN);
    expect(await among({ minReward: 0.75 })).toEqual([high.id]);
    expect(await among({ maxReward: 0 })).toEqual([low.id]);
    expect(await among({ minReward: -1, maxReward: 1 })).toEqual([high.id, low.id]);
    const all = [none.id, high.id, low.id];
    // Workers read the scores from the logs within seconds.
    await expect.poll(() => among({ minDiversity: 0, maxDiversity: 1 }), { timeout: 60_000 }).toEqual(all);
    const listed = await t.engine.listTrajectories({ limit: 50, task: 'add-up@1.0.0' }, ADMIN);
    const { diversityScore } = listed.items.find(({ runId }) => runId === high.runId) ?? {};
    const exact = { minDiversity: diversityScore ?? -1, maxDiversity: diversityScore ?? -1 };
    expect(await among({ ...exact, minReward: 0.75 })).toEqual([high.id]);
    expect(await among({ minQuality: 0, maxQuality: 1, maxReward: 0 })).toEqual([low.id]);
    expect(await among({ minQuality: 1.1 })).toEqual([]);
    expect(await among({ minDiversity: 1.1 })).toEqual([]);
    expect(await codeOf(idsOf({ minReward: Number.NaN }))).toBe('invalid_request /minReward');
  });

  it('is cancelled with its run, once, and its run is not taken away alone', async () => {
    const task = await submit({ agent: 'asker' });
    await restOf(t.engine, task.runId);
    const cancelled = await t.engine.cancelTask(task.id, 'not needed', ADMIN);
    expect(cancelled).toMatchObject({ status: 'cancelled', result: { type: 'failure', reason: 'not needed' } });
    expect(await t.engine.cancelTask(task.id, null, ADMIN)).toEqual(cancelled);
    const done = await over();
    expect(await codeOf(t.engine.cancelTask(done.id, null, ADMIN))).toBe('task_over');
    const apart = await submit({ agent: 'asker' });
    await restOf(t.engine, apart.runId);
    await t.engine.cancelRun(apart.runId, null, ADMIN);
    expect(await t.engine.getTask(apart.id, ADMIN)).toMatchObject({ status: 'cancelled', result: { type: 'failure' } });
  });

  it.runIf(SLOW)(
    'a run that waits in the queue is not deleted under its task; a fork of it changes nothing; erased, it says nothing',
    async () => {
      await t.restart({ role: 'api' });
      const waiting = await submit();
      expect(waiting.status).toBe('queued');
      expect(await codeOf(t.engine.deleteRun(waiting.runId, ADMIN))).toBe('run_referenced');
      expect(await t.engine.cancelTask(waiting.id, null, ADMIN)).toMatchObject({ status: 'cancelled' });
      await t.restart();
      const task = await over({ parameters: { a: 4 } });
      const fork = await t.engine.retryRun(task.runId, {}, ADMIN);
      await restOf(t.engine, fork.id);
      expect(await t.engine.getTask(task.id, ADMIN)).toEqual(task);
      await t.engine.eraseRun(task.runId, { reason: 'asked' }, ADMIN);
      expect(await t.engine.getTask(task.id, ADMIN)).toMatchObject({
        ...{ status: 'failed', parameters: {}, metadata: {}, result: { type: 'error', reason: '(erased)' } },
      });
    },
  );
});
