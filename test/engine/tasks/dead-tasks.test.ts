import { Agent } from '@openai/agents';
import { expect, it } from 'vitest';
import { functionModel } from '../../../src/index.js';
import { type DatabaseKind, describeBothDatabasesSlowly } from '../../harness/database.js';
import { DOCKER_HOST, describeDocker } from '../../harness/docker.js';
import { ADMIN, engineFor } from '../../harness/engine.js';
import { say } from '../../harness/script.js';

/** Tasks that failed by errors: listed with the reasons, and put back by a person. */

const task = {
  ...{ name: 'add-up', version: '1.0.0', category: 'math', difficulty: 'easy' as const, instruction: 'Add up.' },
  environment: { image: 'holdfast-test/busybox:1' },
  verification: { tests: [{ name: 'adds', command: 'true' }] },
};

const deadTasks = (kind: DatabaseKind): void => {
  let fault: Error | null = null;
  const model = functionModel('flaky', () => {
    if (fault !== null) throw fault;
    return [say('done')];
  });
  const t = engineFor(kind, {
    agents: [new Agent({ name: 'flaky', model })],
    // Its engine must answer, or the worker leaves the attempts in the queue. No attempt comes to its container.
    dockerHost: DOCKER_HOST,
    retries: { most: 1, firstMs: 1, longestMs: 1 },
  });
  const refused = Object.assign(new Error('no such key'), { status: 401 });
  const submit = () => t.engine.submitTask({ task, agent: 'flaky' }, ADMIN);
  const seen = (id: string) => t.engine.getTask(id, ADMIN);
  const requeue = (id: string, attempts?: number) =>
    t.engine.requeueTask(id, attempts === undefined ? {} : { attempts }, ADMIN);
  const dies = async (id: string, attempts: number) => {
    await expect.poll(async () => (await seen(id)).attempts).toBe(attempts);
    await expect.poll(async () => (await seen(id)).dead).toBe(true);
  };
  const errorsOf = async (id: string) => ((await seen(id)).tried ?? []).map(({ error }) => error?.code);

  it('are those whose attempts are used up, and those that none follows; both are listed with their reasons', async () => {
    fault = new Error('no words');
    const tired = await submit();
    await dies(tired.id, 2);
    fault = refused;
    const hopeless = await submit();
    await dies(hopeless.id, 1);
    const { items } = await t.engine.listTasks({ limit: 10, dead: 'true' }, ADMIN);
    expect(items.map(({ id, tried = [] }) => [id, tried.map(({ error }) => error?.code)])).toEqual([
      [hopeless.id, ['model_refused']],
      [tired.id, ['model_failed', 'model_failed']],
    ]);
    const elsewhere = { ...ADMIN, tenant: 'elsewhere' };
    expect((await t.engine.listTasks({ limit: 10, dead: 'true' }, elsewhere)).items).toEqual([]);
    await expect(t.engine.requeueTask(tired.id, {}, elsewhere)).rejects.toMatchObject({ code: 'task_unknown' });
  });

  it('get new attempts, once for each request, on the terms of now; what was tried is kept', async () => {
    fault = refused;
    const { id } = await submit();
    await dies(id, 1);
    fault = new Error('no words');
    await expect(requeue(id, 2)).rejects.toMatchObject({
      code: 'task_not_dead',
      message: expect.stringContaining('1 attempts'),
    });
    const both = await Promise.all([requeue(id, 1), requeue(id, 1)]);
    expect(both.map(({ requeues, dead }) => ({ requeues, dead }))).toEqual([
      { requeues: 1, dead: false },
      { requeues: 1, dead: false },
    ]);
    // Two more: one, and one that the terms allow after it.
    await dies(id, 3);
    expect(await errorsOf(id)).toEqual(['model_failed', 'model_failed', 'model_refused']);
    // The request of before, which came late once more.
    expect(await requeue(id, 1)).toMatchObject({ dead: true, requeues: 1, attempts: 3 });
    await requeue(id, 3);
    await dies(id, 5);
    const { items } = await t.engine.listSystemEvents({ after: 0, limit: 200, taskId: id }, ADMIN);
    expect(items.filter(({ kind: what }) => what === 'task.requeued').map(({ data }) => data)).toEqual([
      { attempts: 1, requeues: 1 },
      { attempts: 3, requeues: 2 },
    ]);
  });

  it('are not put back while they are open, when they have a result, after an erasure, or forever', async () => {
    fault = refused;
    const { id, runId } = await submit();
    await dies(id, 1);
    await t.between((knex) => knex('holdfast.tasks').where({ id }).update({ requeues: 100 }));
    await expect(requeue(id, 1)).rejects.toMatchObject({ code: 'task_not_dead' });
    await t.engine.eraseRun(runId, { reason: 'asked' }, ADMIN);
    await t.between((knex) => knex('holdfast.tasks').where({ id }).update({ requeues: 0 }));
    await expect(requeue(id, 1)).rejects.toMatchObject({ code: 'run_erased' });
    const open = await submit();
    await dies(open.id, 1);
    await t.engine.rewardRun(open.runId, { reward: 1 }, ADMIN);
    expect(await seen(open.id)).toMatchObject({ dead: false, result: { type: 'partial_success' } });
    await expect(requeue(open.id)).rejects.toMatchObject({ code: 'task_not_dead' });
  });
};

describeDocker('dead tasks', () => describeBothDatabasesSlowly('dead tasks', deadTasks));
