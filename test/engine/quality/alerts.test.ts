import { Agent } from '@openai/agents';
import { expect, it } from 'vitest';
import { systemEvent } from '../../../src/core/log/system-event.js';
import type { TaskInput } from '../../../src/core/tasks/task-definition.js';
import { defineAgent, functionModel } from '../../../src/index.js';
import { describeEachDatabase } from '../../harness/database.js';
import { ADMIN, engineFor } from '../../harness/engine.js';

/** Alert rules in an engine: what is told, by one worker, and what a restart keeps. */

const mute = functionModel('mute', () => {
  throw new Error('no words');
});
const task: TaskInput = {
  ...{ name: 'sum', version: '1.0.0', category: 'math', difficulty: 'easy', instruction: 'Add 1 and 2.' },
  environment: { image: 'holdfast-test/busybox:1' },
  verification: { tests: [{ name: 'adds', command: 'true' }] },
};
const common = { measure: 'passRate', minTasks: 1, everySeconds: 1, when: { type: 'threshold', below: 0.5 } } as const;
const rules = [
  { ...common, name: 'passes-fall', about: 'Half of the tasks fail.' },
  { ...common, name: 'of-others', only: { category: 'physics' } },
  { ...common, name: 'elsewhere', tenant: 'elsewhere' },
];

describeEachDatabase('alert rules', (kind) => {
  const agents = [defineAgent({ agent: new Agent({ name: 'first', model: mute }) })];
  const t = engineFor(kind, { agents, retries: { most: 0 }, alerts: { rules } });

  const told = async () => {
    const { items } = await t.engine.listSystemEvents({ after: 0, limit: 1000, kind: 'alert.changed' }, ADMIN);
    return items.map((one) => systemEvent.parse(one).data);
  };
  const alert = async (name = 'passes-fall') => {
    const { items } = await t.engine.listAlerts(ADMIN);
    const found = items.find((one) => one.name === name);
    if (found === undefined) throw new Error(`there is no alert ${name}`);
    return found;
  };
  const passed = (share: boolean) =>
    t.between(async (knex) => {
      await knex('holdfast.tasks').update({
        ...{ status: 'completed', completed_at: knex.fn.now(), verification_passed: share, result_type: 'success' },
      });
    });
  const becomes = (state: string) =>
    expect.poll(async () => (await alert()).state, { timeout: 15_000, interval: 200 }).toBe(state);

  it('fire and end, are told once, kept by a restart, and silenced', async () => {
    const { runId } = await t.engine.submitTask({ task, agent: 'first' }, ADMIN);
    await t.engine.getRun(runId, ADMIN, { waitMs: 20_000 });
    await passed(false);
    await becomes('firing');
    expect(await alert()).toMatchObject({ measure: 'passRate', type: 'threshold', value: 0, compared: 0, tasks: 1 });
    // Each rule is judged for itself.
    const ofOthers = expect.poll(() => alert('of-others'), { timeout: 15_000 });
    await ofOthers.toMatchObject({ state: 'ok', value: null, tasks: 0 });
    const fired = { name: 'passes-fall', state: 'firing', measure: 'passRate', value: 0 };
    await expect.poll(told, { timeout: 5000 }).toEqual([fired]);
    // A silence: what changes meanwhile is told when it ends.
    const silenced = await t.engine.silenceAlert(
      'passes-fall',
      { minutes: 10, reason: 'The image is rebuilt.' },
      ADMIN,
    );
    expect(silenced.silence).toMatchObject({ actor: ADMIN.actor, reason: 'The image is rebuilt.' });
    await t.restart();
    expect(await alert()).toMatchObject({ state: 'firing', silence: { reason: 'The image is rebuilt.' } });
    await passed(true);
    await becomes('ok');
    expect(await told()).toEqual([fired]);
    await t.engine.silenceAlert('passes-fall', { minutes: 0, reason: 'It is done.' }, ADMIN);
    expect((await alert()).silence).toBeNull();
    await expect
      .poll(told, { timeout: 10_000 })
      .toEqual([fired, { name: 'passes-fall', state: 'ok', measure: 'passRate', value: 1 }]);
    await expect(t.engine.silenceAlert('no-rule', { minutes: 1, reason: 'any' }, ADMIN)).rejects.toMatchObject({
      code: 'alert_unknown',
    });
    const elsewhere = await t.engine.listAlerts({ ...ADMIN, tenant: 'elsewhere' });
    expect(elsewhere.items.map(({ name }) => name)).toEqual(['elsewhere']);
  });

  it('are evaluated in their own time, also after a restart that made it shorter', async () => {
    const evaluated = async () => (await alert()).evaluatedAt ?? '';
    await expect.poll(evaluated, { timeout: 15_000 }).not.toBe('');
    await t.between(async (knex) => {
      await knex('holdfast.alerts').update({ next_at: knex.raw(`now() + interval '1 day'`) });
    });
    const before = await evaluated();
    await expect.poll(evaluated, { timeout: 15_000 }).not.toBe(before);
  });
});
