import { afterAll, beforeAll, expect, it } from 'vitest';
import type { TaskGrouping } from '../../src/core/quality/task-groups.js';
import type { Database } from '../../src/storage/database/database.js';
import { groupTaskRows, rewardSignals } from '../../src/storage/quality/task-groups.js';
import { insertRun } from '../../src/storage/runs/runs.js';
import {
  countBatches,
  factsOfBatch,
  keepBatch,
  listBatchRows,
  removeEmptyBatches,
  unsuccessfulOf,
} from '../../src/storage/tasks/batches.js';
import { describeEachDatabase } from '../harness/database.js';
import { openLeftDatabase } from './database/left-database.js';

const TASKS = 1000;
const OF = { tenant: 'default', by: 'name' } as const;

/** Of ten tasks one is open, one cancelled, one failed by an error, one gets half of the reward, and six pass. */
const STATUS = `(array['open', 'cancelled', 'failed'])[1 + n % 10]`;
const RESULT = `(array[null, 'failure', 'error', 'partial_success'])[1 + n % 10]`;
const TEXT = `(array[null, '{"reason":"Stopped.","type":"failure"}', '{"code":"model_failed","reason":"It is away.","type":"error"}',
  '{"missing":["lint","tests"],"reward":0.5,"type":"partial_success"}'])[1 + n % 10]`;

describeEachDatabase('a batch of many tasks', (kind) => {
  let database: Database;
  let close: () => Promise<void>;
  beforeAll(async () => {
    ({ database, close } = await openLeftDatabase(kind));
    const { knex } = database;
    await insertRun(knex, {
      ...{ id: 'run_1', tenant: 'default', agent: 'any', agentVersion: '1', agentHash: '', priority: 1000 },
      ...{ input: 'go', grants: [], metadata: {} },
      limits: { maxTurns: 1, maxTotalTokens: null, maxDurationMs: null },
    });
    for (const key of ['big', 'empty'])
      await knex.transaction((trx) => keepBatch(trx, { tenant: 'default', key, actor: 'otto' }));
    await knex('holdfast.task_definitions').insert({ hash: 'h', name: 'sort', version: '1.0.0', definition: '{}' });
    await knex.raw(
      `insert into holdfast.runs select made.* from holdfast.runs r, generate_series(1, ${TASKS}) n,
              json_populate_record(r, json_build_object('id', 'run_of_' || n, 'task_id', 'task_' || n, 'status', coalesce(${STATUS.replace("'open'", "'running'")}, 'completed'),
                'turns', 4, 'cost_nano_usd', case when n % 10 = 2 then null else 1000000 end)) made`,
    );
    await knex.raw(
      `insert into holdfast.tasks (id, definition_hash, name, version, category, difficulty, tags, agent, parameters, seed, priority,
                                   metadata, run_id, status, result_type, result, reward, verification_passed, completed_at, batch)
       select 'task_' || n, 'h', case when n % 4 = 0 then 'find' else 'sort' end, '1.0.0', 'text', 'easy', case when n % 2 = 0 then '{python,language:forth}' else '{python}' end::text[], 'coder', '{}', 1, 1000, '{}',
              'run_of_' || n, coalesce(${STATUS}, 'completed'), case when n % 10 < 4 then ${RESULT} else 'success' end,
              case when n % 10 < 4 then ${TEXT} else '{"reward":1,"type":"success"}' end,
              case when n % 10 < 3 then null when n % 10 = 3 then 0.5 else 1 end, n % 10 > 3,
              case when n % 10 = 0 then null else now() - n * interval '10 seconds' end, 'big'
         from generate_series(1, ${TASKS}) n`,
    );
    await knex.raw('analyze');
  });
  afterAll(() => close());

  it('is counted with those that are listed beside it', async () => {
    const { rows } = await listBatchRows(database.knex, 'default', { limit: 10 });
    expect(rows.map(({ key }) => key).sort()).toEqual(['big', 'empty']);
    const counts = await countBatches(database.knex, 'default', ['big', 'empty', 'unknown']);
    expect(counts.get('big')).toEqual({
      ...{ key: 'big', tasks: TASKS, open: 100, cancelled: 100, failed: 100, completed: 700, passed: 600 },
      mean_reward: (600 + 100 * 0.5) / 800,
    });
    expect(counts.get('empty')).toMatchObject({ tasks: 0, mean_reward: null });
  });

  it('says what became of its tasks, and what they cost', async () => {
    const facts = await factsOfBatch(database.knex, 'default', 'big');
    expect(facts.byStatus).toEqual({
      ...{ queued: 0, running: 100, paused: 0, completed: 700, failed: 100, cancelled: 100 },
    });
    expect(facts.byResult).toEqual({ success: 600, partial_success: 100, failure: 100, timeout: 0, error: 100 });
    expect([facts.rewards[10], facts.rewards[19]]).toEqual([100, 600]);
    expect(facts.rewards.reduce((sum, n) => sum + n, 0)).toBe(700);
    // An hour holds 360 times of ten seconds, of which each tenth is of an open task.
    expect(facts.endedLastHour).toBeGreaterThan(300);
    expect(facts.endedLastHour).toBeLessThan(330);
    expect(facts).toMatchObject({ nanoUsd: String(900 * 1_000_000), unpriced: 100 });
  });

  it('says by what they failed, and leaves out what cannot be read', async () => {
    await database.knex('holdfast.tasks').where({ id: 'task_1' }).update({ result: 'nonsense' });
    const found = await unsuccessfulOf(database.knex, 'default', 'big');
    expect(found.length).toBe(299);
    expect(found.find(({ id }) => id === 'task_2')?.result).toMatchObject({ type: 'error', code: 'model_failed' });
  });

  it('is grouped with the means of those that ended', async () => {
    const { rows, looked } = await groupTaskRows(database.knex, { ...OF, batch: 'big' });
    expect(looked).toBe(TASKS);
    expect(rows.map(({ name, tasks }) => [name, tasks])).toEqual([
      ['sort@1.0.0', 750],
      ['find@1.0.0', 250],
    ]);
    expect(rows.reduce((sum, { passed }) => sum + passed, 0)).toBe(600);
    expect(rows[0]?.measures.turns).toEqual({ n: 600, mean: 4, variance: 0 });
    expect((await groupTaskRows(database.knex, { ...OF, name: 'find' })).rows).toHaveLength(1);
    expect((await groupTaskRows(database.knex, { ...OF, batch: 'unknown' })).rows).toEqual([]);
  });

  it('is grouped by languages, datasets, versions and days, with scores and the signals of rewards', async () => {
    const { knex } = database;
    await knex.raw(
      `insert into holdfast.trajectories select id, tenant, agent, task_id, '{}', '{one,two}', 'success', 1, 4, '{}', 0.5, 0.25, '[]', 1,
              created_at, created_at from holdfast.runs where task_id is not null`,
    );
    const reward = `{"reason":"It said \\"signals\\":{}.","reward":1,"signals":{"a} b":0.5,"lint":1},"verificationPassed":true}`;
    for (const [run, version, data] of [
      ['run_of_5', 1, reward.replaceAll('0.5', '0.1')],
      ['run_of_5', 2, reward],
      ['run_of_6', 1, reward.replace('"lint":1', '"lint":0')],
      ['run_of_7', 1, 'nonsense'],
      ['run_of_8', 1, null],
    ] as const)
      await knex('holdfast.rewards').insert({
        ...{
          run_id: run,
          version,
          data,
          data_hash: 'h',
          actor: 'otto',
          at: '',
          head_seq: 1,
          head_hash: 'h',
          hash: 'h',
        },
      });
    await knex('holdfast.datasets').insert({
      ...{ name: 'set', version: '1.0.0', id: 'd', hash: 'h', description: '', tasks: 1, created_by: 'otto' },
    });
    await knex('holdfast.dataset_tasks').insert({
      ...{ dataset: 'set', dataset_version: '1.0.0', place: 0, name: 'sort', hash: 'h' },
    });
    const names = async (by: TaskGrouping) =>
      (await groupTaskRows(knex, { tenant: 'default', by })).rows.map(({ name, tasks }) => [name, tasks]);
    expect(await names('language')).toEqual([
      ['python', TASKS],
      ['forth', TASKS / 2],
    ]);
    expect(await names('tag')).toContainEqual(['language:forth', TASKS / 2]);
    expect(await names('dataset')).toEqual([['set@1.0.0', TASKS]]);
    expect(await names('agentVersion')).toEqual([['coder@1', TASKS]]);
    expect(await names('scaffold')).toEqual([['holdfast', TASKS]]);
    expect(await names('model')).toEqual([
      ['one', TASKS],
      ['two', TASKS],
    ]);
    expect(await names('day')).toEqual([[expect.stringMatching(/^\d{4}-\d\d-\d\d$/), TASKS]]);
    const only = { tenant: 'default', by: 'language', only: ['forth'], dataset: 'set@1.0.0' } as const;
    const [row, ...others] = (await groupTaskRows(knex, only)).rows;
    expect(others).toEqual([]);
    // Half of them are of the even numbers, 100 of these of tasks that are open.
    expect(row?.measures.quality).toEqual({ n: row?.ended, mean: 0.5, variance: 0 });
    expect(row?.measures.usd).toMatchObject({ n: (row?.ended ?? 0) - 100, mean: expect.closeTo(0.001, 12) });
    expect((await rewardSignals(knex, only)).get('forth')).toEqual([
      { name: 'a} b', n: 1, mean: 0.5 },
      { name: 'lint', n: 1, mean: 0 },
    ]);
    expect((await rewardSignals(knex, { tenant: 'default', by: 'category' })).get('text')).toEqual([
      { name: 'a} b', n: 2, mean: 0.5 },
      { name: 'lint', n: 2, mean: 0.5 },
    ]);
  });

  it('goes a day after its last task', async () => {
    const remove = (tenant: string | null) => removeEmptyBatches(database.knex, { tenant, limit: 10 });
    expect(await remove(null)).toBe(0);
    await database.knex('holdfast.batches').update({ submitted_at: new Date(Date.now() - 2 * 86_400_000) });
    expect(await remove('elsewhere')).toBe(0);
    expect(await remove(null)).toBe(1);
    expect((await listBatchRows(database.knex, 'default', { limit: 10 })).rows.map(({ key }) => key)).toEqual(['big']);
  });
});
