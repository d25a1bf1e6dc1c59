import { Agent } from '@openai/agents';
import { expect, it } from 'vitest';
import type { SubmitTask } from '../../../src/core/tasks/task.js';
import { createEngine, defineAgent, functionModel } from '../../../src/index.js';
import { describeEachDatabase } from '../../harness/database.js';
import { ADMIN, engineFor } from '../../harness/engine.js';
import { say } from '../../harness/script.js';
import { SLOW } from '../../harness/slow.js';

/** The order in which tasks begin, as a configuration says it. */

const AGENTS = [defineAgent({ agent: new Agent({ name: 'done', model: functionModel('done', () => [say('done')]) }) })];
const definition = (category: string, difficulty: 'easy' | 'expert') => ({
  ...{ name: `${category}-${difficulty}`, version: '1.0.0', category, difficulty },
  ...{ instruction: 'Do it.', environment: { image: 'none' } },
  verification: { tests: [{ name: 'does', command: 'true' }] },
});

describeEachDatabase('tasks that say no priority', (kind) => {
  const t = engineFor(kind, { agents: AGENTS, scheduling: { weights: { difficulty: 24, category: 480, age: 0 } } });
  const submit = async (category: string, difficulty: 'easy' | 'expert', more: Partial<SubmitTask> = {}) =>
    (await t.engine.submitTask({ task: definition(category, difficulty), agent: 'done', ...more }, ADMIN)).priority;

  it.runIf(SLOW)('get one by difficulty and category; one that is said stays', async () => {
    expect([await submit('a', 'easy'), await submit('a', 'expert'), await submit('a', 'easy')]).toEqual([
      ...[2001, 1977, 2001],
    ]);
    expect(await submit('b', 'easy')).toBe(2001 - 480);
    expect(await submit('b', 'easy')).toBe(2001 - 320);
    expect(await submit('b', 'easy', { priority: 7 })).toBe(7);
    await t.restart();
    // Counted again: three of each.
    expect(await submit('b', 'easy')).toBe(2001);
  });

  it.runIf(SLOW)('a task says what of its run was changed, and one that cannot be read breaks no list', async () => {
    const ids: { readonly id: string; readonly runId: string }[] = [];
    for (const name of ['run', 'task', 'none'])
      ids.push(await t.engine.submitTask({ task: definition(name, 'easy'), agent: 'done' }, ADMIN));
    const [run, task, none] = ids;
    await t.between(async (knex) => {
      await knex('holdfast.runs').where({ id: run?.runId }).update({ input: '"Something else."' });
      await knex('holdfast.tasks').where({ id: task?.id }).update({ metadata: '{not JSON' });
    });
    const { items } = await t.engine.listTasks({ limit: 50 }, ADMIN);
    const named = async (id = '') => {
      const { integrity } = await t.engine.getTask(id, ADMIN);
      expect(items.find((one) => one.id === id)?.integrity).toEqual(integrity);
      return integrity.map(({ table, column }) => `${table}.${column}`);
    };
    expect([await named(run?.id), await named(task?.id), await named(none?.id)]).toEqual([
      ...[['runs.input'], ['tasks.metadata'], []],
    ]);
  });

  it('weights that are none are refused at the start', async () => {
    const config = { agents: AGENTS, scheduling: { weights: { age: 11 } }, databaseUrl: null, dataDir: '/nowhere' };
    await expect(createEngine(config)).rejects.toMatchObject({ code: 'config_invalid' });
  });
});
