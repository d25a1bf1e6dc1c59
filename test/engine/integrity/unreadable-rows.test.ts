import { Agent } from '@openai/agents';
import type { Knex } from 'knex';
import { expect, it } from 'vitest';
import { defineAgent, functionModel } from '../../../src/index.js';
import { aTask } from '../../core/tasks/a-task.js';
import { describeEachDatabase } from '../../harness/database.js';
import { ADMIN, engineFor, runToRest } from '../../harness/engine.js';
import { say } from '../../harness/script.js';

/** JSON of rows that no view compares with a log: what cannot be read is named by table, row and column. */

const model = functionModel('model', () => [say('done')]);
const config = { agents: [defineAgent({ agent: new Agent({ name: 'talker', model }) })] };

const NO_JSON = '{"secret-of-ann';

describeEachDatabase('a row that cannot be read', (kind) => {
  const t = engineFor(kind, config);
  const change = (table: string, columns: Record<string, string | null>, where: object = {}) =>
    t.between((knex: Knex) => knex(`holdfast.${table}`).where(where).update(columns));
  const refused = async (asked: Promise<unknown>, ...named: readonly string[]) => {
    const error = await asked.then(
      () => null,
      (thrown: unknown) => thrown,
    );
    expect(error).toMatchObject({ code: 'row_changed' });
    for (const name of named) expect(String(error)).toContain(name);
    expect(String(error)).not.toContain('secret-of-ann');
  };

  it('is named, and so is its column: items of a session', async () => {
    const { id } = await t.engine.startRun({ agent: 'talker', input: 'go', sessionId: 'ann' }, ADMIN);
    await t.engine.getRun(id, ADMIN, { waitMs: 20_000 });
    await change('session_items', { item: NO_JSON }, { seq: 2 });
    const started = () => t.engine.startRun({ agent: 'talker', input: 'go', sessionId: 'ann' }, ADMIN);
    await refused(started(), ...['session_items', '2 of session ann', 'item: it is no JSON']);
    await change('session_items', { item: '["secret-of-ann"]' }, { seq: 2 });
    await refused(started(), 'item: it has another shape');
    const { unreadable } = await t.engine.listSessionItems('ann', { after: 0, limit: 50 }, ADMIN);
    expect(JSON.stringify(unreadable)).not.toContain('secret-of-ann');
  });

  it('is named: what a worker offers, a reward, what an export was asked for', async () => {
    const { id } = await runToRest(t.engine, 'talker');
    await t.engine.rewardRun(id, { reward: 1 }, ADMIN);
    const { id: exported } = await t.engine.startExport({ format: 'jsonl', to: { folder: 'all' } }, ADMIN);
    await t.between(async (knex) => {
      await knex('holdfast.rewards').update({ data: NO_JSON });
      await knex('holdfast.exports').update({ request: '{"format":"none"}' });
      await knex('holdfast.workers').insert({
        ...(await knex('holdfast.workers').first()),
        ...{ id: 'gone', offer: NO_JSON, stopped_at: new Date() },
      });
    });
    await refused(t.engine.rewardRun(id, { reward: 0 }, ADMIN), 'rewards', `version 1 of run ${id}`);
    await refused(t.engine.getExport(exported, ADMIN), 'exports', exported, 'request', '/format');
    await refused(t.engine.getWorker('gone'), 'workers', 'gone', 'offer');
  });

  it('is a definition of tasks: one that is not what its hash names is given to no task', async () => {
    const task = aTask();
    await t.engine.registerTask({ task }, ADMIN);
    const named = { name: task.name, version: task.version };
    await change('task_definitions', { definition: NO_JSON });
    await refused(t.engine.getTaskDefinition(named, ADMIN), 'task_definitions', 'it is no JSON');
    const other = JSON.stringify({ ...task, verification: { ...task.verification, tests: [] } });
    await change('task_definitions', { definition: other });
    await refused(t.engine.getTaskDefinition(named, ADMIN), 'another definition than the hash names');
    await refused(t.engine.submitTask({ task: named, agent: 'talker' }, ADMIN), 'another definition');
  });

  it('is an event of the log: the log is broken there, for all who read it', async () => {
    const { id } = await runToRest(t.engine, 'talker');
    const broken = { code: 'log_broken', message: expect.stringContaining(`run ${id} is broken`) };
    await change('events', { data: NO_JSON }, { run_id: id, kind: 'model.responded' });
    await expect(t.engine.listEvents(id, { after: 0, limit: 50 }, ADMIN)).rejects.toMatchObject(broken);
    await expect(t.engine.getTrajectory(id, ADMIN)).rejects.toMatchObject(broken);
    await change('events', { data: '{"turn":1}' }, { run_id: id, kind: 'model.responded' });
    await expect(t.engine.getTrajectory(id, ADMIN)).rejects.toMatchObject(broken);
    expect(await t.engine.verifyRun(id, ADMIN)).toMatchObject({ ok: false });
  });

  it('does not keep its run from being erased', async () => {
    const { id } = await runToRest(t.engine, 'talker');
    await change('runs', { error: NO_JSON, status: 'failed' }, { id });
    expect(await t.engine.eraseRun(id, { reason: 'asked' }, ADMIN)).toMatchObject({ runId: id });
  });
});
