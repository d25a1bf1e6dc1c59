import { Agent } from '@openai/agents';
import { expect, it } from 'vitest';
import { passAtK, ratesOf } from '../../../src/core/quality/pass-rates.js';
import { wilson } from '../../../src/core/tasks/pass-rate.js';
import type { TaskInput } from '../../../src/core/tasks/task-definition.js';
import { defineAgent, functionModel } from '../../../src/index.js';
import { describeEachDatabase } from '../../harness/database.js';
import { ADMIN, engineFor } from '../../harness/engine.js';

/** pass@k: the estimate, its interval, and what of the rows of tasks counts. */

/** The same by counting every choice of k attempts. */
function byChoices(n: number, c: number, k: number): number {
  let [all, hit] = [0, 0];
  for (let chosen = 0; chosen < 2 ** n; chosen++) {
    const places = Array.from({ length: n }, (_, at) => at).filter((at) => (chosen >> at) & 1);
    if (places.length !== k) continue;
    all += 1;
    if (places.some((at) => at < c)) hit += 1;
  }
  return hit / all;
}

it('is the share of choices of k attempts in which one passed', () => {
  for (let n = 1; n <= 8; n++)
    for (let c = 0; c <= n; c++)
      for (let k = 1; k <= n; k++) expect(passAtK(n, c, k)).toBeCloseTo(byChoices(n, c, k), 12);
  expect(passAtK(3, 1, 4)).toBeNull();
  expect(passAtK(10_000, 5_000, 9_999)).toBe(1);
});

it('has an interval that holds its value, even where all or none pass', () => {
  // As published for 8 of 10.
  expect(wilson(0.8, 10).low).toBeCloseTo(0.4902, 4);
  expect(wilson(0.8, 10).high).toBeCloseTo(0.9433, 4);
  expect(wilson(1, 20)).toMatchObject({ high: 1, low: expect.closeTo(0.8389, 4) });
  expect(wilson(0, 20).low).toBe(0);
  const [rate] = ratesOf(
    [
      { agent: 'a', group: null, attempts: 2, passed: 1 },
      { agent: 'a', group: null, attempts: 1, passed: 0 },
    ],
    [1, 2, 1],
  );
  expect(rate).toMatchObject({
    ...{ agent: 'a', tasks: 2, attempts: 3, passed: 1 },
    passAt: [
      { k: 1, tasks: 2, value: 0.25 },
      { k: 2, tasks: 1, value: 1 },
    ],
  });
});

const mute = functionModel('mute', () => {
  throw new Error('no words');
});
const agent = (name: string) => defineAgent({ agent: new Agent({ name, model: mute }) });
const definition = (name: string): TaskInput => ({
  ...{ name, version: '1.0.0', category: 'math', difficulty: 'easy', instruction: 'Add 1 and 2.' },
  environment: { image: 'holdfast-test/busybox:1' },
  verification: { tests: [{ name: 'adds', command: 'true' }] },
});

describeEachDatabase('pass rates', (kind) => {
  const t = engineFor(kind, { agents: [agent('first'), agent('second')], retries: { most: 0 } });
  const results = new Map<string, string | null>();
  const attempt = async (name: string, of: string, result: string | null) => {
    const { id, runId } = await t.engine.submitTask({ task: definition(name), agent: of }, ADMIN);
    await t.engine.getRun(runId, ADMIN, { waitMs: 20_000 });
    results.set(id, result);
  };
  const rates = async (more: object = {}) => {
    const { items } = await t.engine.getPassRates({ k: '1,2', ...more }, ADMIN);
    return items.map((one) => [
      one.agent,
      one.tasks,
      one.attempts,
      one.passed,
      ...one.passAt.map(({ value }) => value),
    ]);
  };

  it('are those of results that say something of the agent, by dataset and agent', async () => {
    await attempt('sum', 'first', 'success');
    await attempt('sum', 'first', 'failure');
    await attempt('sum', 'first', 'error');
    await attempt('sum', 'first', null);
    await attempt('other', 'first', 'timeout');
    await attempt('sum', 'second', 'partial_success');
    // The results of containers, which this test has none of.
    await t.between(async (knex) => {
      for (const [id, result] of results) await knex('holdfast.tasks').where({ id }).update({ result_type: result });
    });
    expect(await rates()).toEqual([
      ['first', 2, 3, 1, 0.25, 1],
      ['second', 1, 1, 0, 0, null],
    ]);
    await t.engine.createDataset({ name: 'set', version: '1.0.0', tasks: [{ name: 'sum', version: '1.0.0' }] }, ADMIN);
    expect(await rates({ dataset: 'set@1.0.0', agent: 'first' })).toEqual([['first', 1, 2, 1, 0.5, 1]]);
    const grouped = await t.engine.getPassRates({ k: '1', by: 'name' }, ADMIN);
    expect(grouped.items.map(({ agent, group, attempts }) => [agent, group, attempts])).toEqual([
      ['first', 'other@1.0.0', 1],
      ['first', 'sum@1.0.0', 2],
      ['second', 'sum@1.0.0', 1],
    ]);
    expect(await rates({ dataset: 'set@2.0.0' })).toEqual([]);
    expect(await rates({ to: '2020-01-01T00:00:00Z' })).toEqual([]);
    const elsewhere = await t.engine.getPassRates({}, { ...ADMIN, tenant: 'elsewhere' });
    expect(elsewhere).toEqual({ items: [], truncated: false });
    const drift = await t.engine.compareTaskGroups({ by: 'agent', before: 'first', after: 'second' }, ADMIN);
    expect(drift).toMatchObject({ by: 'agent', before: { tasks: 5 }, after: { tasks: 1 }, drifted: false });
    const none = await t.engine.compareTaskGroups({ by: 'day', before: '2020-01-01', after: '2020-01-02' }, ADMIN);
    expect(none).toEqual({ by: 'day', before: null, after: null, measures: [], drifted: false, atLeast: false });
    await expect(t.engine.getPassRates({ k: '0' }, ADMIN)).rejects.toMatchObject({ code: 'invalid_request' });
  });
});
