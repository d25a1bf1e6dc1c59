import { afterAll, beforeAll, expect, it } from 'vitest';
import { alertRule } from '../../src/core/agents/alert-rules.js';
import type { Database } from '../../src/storage/database/database.js';
import {
  dueAlerts,
  holdDueAlert,
  keepEvaluation,
  measureWindows,
  postponeAlert,
} from '../../src/storage/quality/alerts.js';
import { insertRun } from '../../src/storage/runs/runs.js';
import { describeEachDatabase } from '../harness/database.js';
import { openLeftDatabase } from './database/left-database.js';

const rule = alertRule.parse({
  ...{ name: 'slow', measure: 'turns', windowMinutes: 10, when: { type: 'change', above: 2 }, everySeconds: 3600 },
});
/** Of every measure, also of shares. */
const RISES = { when: { type: 'change', above: 0.1 } };
const STANDING = { state: 'firing', sinceMs: 0, rightSinceMs: null, value: 4, compared: 3, tasks: 1 } as const;

describeEachDatabase('rows of alerts', (kind) => {
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
    await knex('holdfast.runs').update({ turns: 4 });
    await knex('holdfast.task_definitions').insert({ hash: 'h', name: 'sort', version: '1.0.0', definition: '{}' });
    // One a minute from five minutes ago on, each third open, and one of another agent.
    await knex.raw(
      `insert into holdfast.tasks (id, definition_hash, name, version, category, difficulty, tags, agent, parameters, seed, priority,
                                   metadata, run_id, status, result_type, reward, verification_passed, completed_at)
       select 'task_' || n, 'h', 'sort', '1.0.0', 'text', 'easy', '{}', case when n = 1 then 'other' else 'coder' end, '{}', 1, 1000, '{}', 'run_1',
              case when n % 3 = 0 then 'open' else 'completed' end, case when n = 7 then 'error' else 'success' end, 1, n > 7,
              case when n % 3 = 0 then null else now() - (n + 0.5) * interval '1 minute' end
         from generate_series(0, 30) n`,
    );
  });
  afterAll(() => close());

  it('measures each window, the last one first', async () => {
    const measure = (more: object, windows: number) =>
      database.knex.transaction((trx) => measureWindows(trx, alertRule.parse({ ...rule, ...RISES, ...more }), windows));
    expect(await measure({}, 2)).toEqual([
      { tasks: 6, value: 4 },
      { tasks: 7, value: 4 },
    ]);
    expect(await measure({ only: { agent: 'other' } }, 2)).toEqual([
      { tasks: 1, value: 4 },
      { tasks: 0, value: null },
    ]);
    expect(await measure({ measure: 'passRate' }, 1)).toEqual([{ tasks: 6, value: 1 / 6 }]);
    expect(await measure({ measure: 'errorRate' }, 1)).toEqual([{ tasks: 6, value: 1 / 6 }]);
    expect(await measure({ measure: 'tasks', tenant: 'elsewhere' }, 1)).toEqual([{ tasks: 0, value: 0 }]);
    expect(await measure({ measure: 'quality' }, 1)).toEqual([{ tasks: 6, value: null }]);
  });

  it('is due once, and no second worker holds it', async () => {
    const { knex } = database;
    expect(await dueAlerts(knex, [rule])).toEqual([{ tenant: 'default', name: 'slow' }]);
    const evaluate = () =>
      knex.transaction(async (trx) => {
        const row = await holdDueAlert(trx, rule);
        if (row === undefined) return false;
        await keepEvaluation(trx, row, rule, STANDING);
        return true;
      });
    const evaluated = await Promise.all([evaluate(), evaluate(), evaluate()]);
    expect(evaluated.filter(Boolean)).toHaveLength(1);
    expect(await dueAlerts(knex, [rule])).toEqual([]);
    expect(await knex.transaction((trx) => holdDueAlert(trx, rule))).toBeUndefined();
    const told = await knex('holdfast.system_events').where({ kind: 'alert.changed' }).pluck('data');
    expect(told.map((data) => JSON.parse(data))).toEqual([
      { measure: 'turns', name: 'slow', state: 'firing', value: 4 },
    ]);
  });

  it('waits for its time again after a look that failed, also where that was the first', async () => {
    const { knex } = database;
    const fails = { ...rule, name: 'fails' };
    expect(await dueAlerts(knex, [fails])).toHaveLength(1);
    await postponeAlert(knex, fails);
    expect(await dueAlerts(knex, [fails])).toEqual([]);
    // A rule that looks more often now does not wait for the time that it had.
    expect(await dueAlerts(knex, [{ ...fails, everySeconds: 60 }])).toHaveLength(1);
  });
});
