import { Agent } from '@openai/agents';
import { expect, it } from 'vitest';
import { askHumanTool, defineAgent, functionModel } from '../../../src/index.js';
import { describeBothDatabasesSlowly } from '../../harness/database.js';
import { ADMIN, engineFor, restOf } from '../../harness/engine.js';
import { call, outputAfter } from '../../harness/script.js';

/** Attempts of tasks whose models fail. No container is needed: none of them comes to its verification. */

const task = {
  ...{ name: 'add-up', version: '1.0.0', category: 'math', difficulty: 'easy' as const, instruction: 'Add {{n}}.' },
  environment: { image: 'holdfast-test/busybox:1' },
  verification: { tests: [{ name: 'adds', command: 'true' }] },
  antiHardcoding: { randomizedInputs: { n: { type: 'integer' as const, min: 0, max: 1_000_000 } } },
};
const SOON = { most: 2, firstMs: 1, longestMs: 1 };
const LATER = { most: 1, firstMs: 3_600_000, longestMs: 3_600_000 };

describeBothDatabasesSlowly('attempts of tasks', (kind) => {
  let failures = 0;
  const flaky = functionModel('flaky', ({ input }) => {
    if (failures-- > 0) throw new Error('no words');
    return outputAfter([[call('ask_human', { question: 'On?' }, 'ask')]], input);
  });
  const agent = (name: string, grants: string[]) =>
    defineAgent({ agent: new Agent({ name, model: flaky, tools: [askHumanTool()] }), grants });
  const t = engineFor(kind, {
    agents: [agent('flaky', ['human:ask:question']), agent('denied', [])],
    retries: SOON,
  });
  const submit = (name: string, fails: number) => {
    failures = fails;
    return t.engine.submitTask({ task, agent: name, priority: 7, metadata: { team: 'red' } }, ADMIN);
  };
  const seen = (id: string) => t.engine.getTask(id, ADMIN);
  const until = (id: string, status: string) => expect.poll(async () => (await seen(id)).status).toBe(status);
  const ends = async (id: string) =>
    (await t.engine.listSystemEvents({ after: 0, limit: 200, taskId: id }, ADMIN)).items
      .filter(({ kind: what }) => ['task.assigned', 'task.failed', 'task.completed'].includes(what))
      .map(({ data }) => data);

  it('a further run has the same instruction, labels and seed, and goes on as any', async () => {
    const { id, seed } = await submit('flaky', 2);
    await until(id, 'paused');
    const now = await seen(id);
    expect(now).toMatchObject({ attempts: 3, seed, result: null, retryAt: null, completedAt: null });
    const tried = now.tried ?? [];
    expect(tried.map(({ status, error }) => [status, error?.code ?? null])).toEqual([
      ['paused', null],
      ['failed', 'model_failed'],
      ['failed', 'model_failed'],
    ]);
    expect(tried[0]?.runId).toBe(now.runId);
    const runs = await Promise.all(tried.map(({ runId }) => t.engine.getRun(runId, ADMIN)));
    expect(new Set(runs.map(({ input, metadata, limits }) => JSON.stringify([input, metadata, limits]))).size).toBe(1);
    const code = 'model_failed';
    expect(await ends(id)).toEqual([
      { attempt: 1 },
      { attempt: 1, code, retried: true },
      { attempt: 2 },
      { attempt: 2, code, retried: true },
      { attempt: 3 },
    ]);
    expect(await t.engine.cancelTask(id, 'enough', ADMIN)).toMatchObject({ status: 'cancelled', attempts: 3 });
  });

  it('fails when its attempts are used up, by the error of the last one', async () => {
    const { id } = await submit('flaky', 99);
    await until(id, 'failed');
    const over = await seen(id);
    expect(over).toMatchObject({ attempts: 3, retryAt: null, result: { type: 'error', code: 'model_failed' } });
    expect(over.tried).toHaveLength(3);
    expect((await ends(id)).at(-1)).toEqual({ attempt: 3, code: 'model_failed', retried: false });
  });

  it('what another attempt would meet as well ends it at once', async () => {
    const { id, runId } = await submit('denied', 0);
    await restOf(t.engine, runId);
    expect(await seen(id)).toMatchObject({ status: 'failed', attempts: 1, retryAt: null, result: { type: 'failure' } });
  });

  it('waits over a restart; what is said of its last run is not its result; when it is due it begins once', async () => {
    await t.restart({ retries: LATER });
    const { id, runId } = await submit('flaky', 1);
    await restOf(t.engine, runId);
    await t.engine.rewardRun(runId, { reward: 1 }, ADMIN);
    const waiting = await seen(id);
    expect(waiting).toMatchObject({ status: 'queued', runId, attempts: 1, result: null, reward: null });
    expect(Date.parse(waiting.retryAt ?? '')).toBeGreaterThan(Date.parse(waiting.createdAt) + 1_000_000);
    const queued = await t.engine.listTasks({ limit: 50, status: 'queued' }, ADMIN);
    expect(queued.items.map((one) => one.id)).toEqual([id]);
    // The configuration is another one by now: the task keeps its terms.
    await t.between((knex) => knex('holdfast.tasks').where({ id }).update({ retry_at: knex.fn.now() }));
    await until(id, 'paused');
    expect((await seen(id)).tried).toHaveLength(2);
    await t.engine.cancelTask(id, null, ADMIN);
  });

  it('one that waits is cancelled, also by the erasure of what it would be given', async () => {
    await t.restart({ retries: LATER });
    const one = await submit('flaky', 1);
    await restOf(t.engine, one.runId);
    const cancelled = await t.engine.cancelTask(one.id, 'not needed', ADMIN);
    expect(cancelled).toMatchObject({ status: 'cancelled', attempts: 1, retryAt: null });
    expect(await t.engine.cancelTask(one.id, null, ADMIN)).toEqual(cancelled);
    const other = await submit('flaky', 1);
    await restOf(t.engine, other.runId);
    await t.engine.eraseRun(other.runId, { reason: 'asked' }, ADMIN);
    await t.between((knex) => knex('holdfast.tasks').where({ id: other.id }).update({ retry_at: knex.fn.now() }));
    await until(other.id, 'cancelled');
    expect(await seen(other.id)).toMatchObject({ attempts: 1, retryAt: null, result: { type: 'failure' } });
  });
});
