import { Agent } from '@openai/agents';
import { expect, it } from 'vitest';
import { defineAgent, functionModel } from '../../../src/index.js';
import { recordTaskStarted } from '../../../src/storage/tasks/task-events.js';
import { describeBothDatabasesSlowly } from '../../harness/database.js';
import { ADMIN, engineFor, restOf } from '../../harness/engine.js';
import { parseExposition } from '../../metrics/exposition.js';

const mute = functionModel('mute', () => {
  throw new Error('no words');
});
const AGENTS = [
  defineAgent({ agent: new Agent({ name: 'mute', model: mute }) }),
  defineAgent({ agent: new Agent({ name: 'rare', model: mute }), rate: { runs: 1, perMs: 3_600_000 } }),
];
const task = {
  ...{ name: 'add-up', version: '1.0.0', category: 'math', difficulty: 'easy' as const, instruction: 'Add.' },
  environment: { image: 'holdfast-test/busybox:1' },
  verification: { tests: [{ name: 'adds', command: 'true' }] },
};

describeBothDatabasesSlowly('what is told of tasks', (kind) => {
  const t = engineFor(kind, { agents: AGENTS, retries: { most: 0 } });
  const told = async (taskId: string) =>
    (await t.engine.listSystemEvents({ after: 0, limit: 200, taskId }, ADMIN)).items;
  const ofTask = async (taskId: string) =>
    (await told(taskId)).filter((event) => event.kind.startsWith('task.')).map((event) => [event.kind, event.data]);

  it('a task is submitted, assigned, started and fails, and its steps and its record are told of it', async () => {
    const { id, runId } = await t.engine.submitTask({ task, agent: 'mute' }, ADMIN);
    await restOf(t.engine, runId);
    const { result } = await t.engine.getTask(id, ADMIN);
    const code = result?.type === 'error' ? result.code : 'none';
    expect(await ofTask(id)).toEqual([
      ['task.submitted', { name: 'add-up', version: '1.0.0' }],
      ['task.assigned', { attempt: 1 }],
      ['task.started', { attempt: 1 }],
      ['task.failed', { attempt: 1, code, retried: false }],
    ]);
    await expect.poll(async () => (await told(id)).at(-1)?.kind).toBe('trajectory.stored');
    const all = await told(id);
    expect(all.every((event) => event.runId === runId && event.tenant === 'default')).toBe(true);
    expect(all.find((event) => event.kind === 'task.assigned')?.workerId).toBe('test');
    // An execution that begins again, because the one before it died, says nothing new.
    await t.between((knex) => recordTaskStarted(knex, runId, 'another'));
    expect((await ofTask(id)).length).toBe(4);
  });

  it('one that is cancelled has ended with a result, and all of them are counted', async () => {
    const value = async (name: string, labels: Record<string, string>) =>
      parseExposition((await t.engine.metrics(ADMIN)).text)
        .find((family) => family.name === `holdfast_${name}`)
        ?.samples.find(
          ({ name: own, labels: has }) => !/_(bucket|sum)$/.test(own) && JSON.stringify(has) === JSON.stringify(labels),
        )?.value;
    const first = await t.engine.submitTask({ task, agent: 'rare' }, ADMIN);
    await restOf(t.engine, first.runId);
    const second = await t.engine.submitTask({ task, agent: 'rare' }, ADMIN);
    await expect.poll(() => value('tasks_open', {})).toBe(1);
    await t.engine.cancelTask(second.id, 'not needed', ADMIN);
    expect(await ofTask(second.id)).toEqual([
      ['task.submitted', { name: 'add-up', version: '1.0.0' }],
      ['task.completed', { attempt: 1, result: 'failure', reward: null }],
    ]);
    expect(await value('tasks_submitted_total', { category: 'math' })).toBe(2);
    await expect.poll(() => value('tasks_completed_total', { result: 'failure' })).toBe(1);
    const { result } = await t.engine.getTask(first.id, ADMIN);
    expect(await value('tasks_failed_total', { code: result?.type === 'error' ? result.code : '' })).toBe(1);
    expect(await value('task_duration_seconds', { result: 'error' })).toBe(1);
  });
});
