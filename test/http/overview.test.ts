import { Agent } from '@openai/agents';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { budgetList, errorGroups, queueOverview, SERIES_NAMES, statsSeries } from '../../src/core/ops/overview.js';
import { type RunView, runView } from '../../src/core/runs/run.js';
import { askHumanTool, defineAgent } from '../../src/index.js';
import { knowSecret } from '../../src/models/secrets/known-secrets.js';
import { describeEachDatabase } from '../harness/database.js';
import { call, say, scripted } from '../harness/script.js';
import { type Actor, type Door, expectProblem, openDoor } from './door.js';

const PRICE = { inputPerMillion: '1', outputPerMillion: '1' };
const AGENTS = [
  defineAgent({ agent: new Agent({ name: 'echo', model: scripted([[say('hello')]]) }) }),
  defineAgent({
    agent: new Agent({ name: 'rare', model: scripted([[say('hello')]]) }),
    concurrency: 3,
    rate: { runs: 1, perMs: 3_600_000 },
  }),
  defineAgent({
    agent: new Agent({
      name: 'asker',
      model: scripted([[call('ask_human', { question: 'Which?' }, 'q1')], [say('thanks')]]),
      tools: [askHumanTool()],
    }),
    grants: ['human:ask:*'],
  }),
];

describeEachDatabase('queue, errors, budgets and series over HTTP', (kind) => {
  let door: Door;
  const failed: RunView[] = [];
  beforeAll(async () => {
    door = await openDoor(kind, AGENTS, {
      prices: Object.fromEntries(['echo', 'rare', 'asker'].map((name) => [`object/${name}`, PRICE])),
      budgets: { perDay: '100', perAgent: { echo: { perDay: '5' } }, perTenant: { each: { total: '20' } } },
    });
    for (let n = 0; n < 2; n++) failed.push(await over('asker', { maxTurns: 1 }));
    await over('echo');
    await over('rare');
    for (const sessionId of ['talk', 'chat']) await start('rare', { sessionId });
  });
  afterAll(() => door.close());

  const start = async (agent: string, more: object = {}): Promise<string> =>
    runView.parse((await door.ask('otto', 'POST', '/api/v1/runs', { agent, input: 'go', ...more })).json).id;
  const read = async (id: string): Promise<RunView> =>
    runView.parse((await door.ask('vera', 'GET', `/api/v1/runs/${id}?wait=20`)).json);
  async function over(agent: string, more: object = {}): Promise<RunView> {
    const run = await read(await start(agent, more));
    const [wait] = run.interruptions;
    if (wait === undefined) return run;
    await door.ask('anna', 'POST', `/api/v1/interruptions/${wait}/answer`, { value: 'this' });
    return read(run.id);
  }
  const get = async (path: string, actor: Actor = 'vera'): Promise<unknown> => {
    const { json, status, text } = await door.ask(actor, 'GET', `/api/v1/${path}`);
    expect(status, text).toBe(200);
    return json;
  };

  test('the queue is told by agent and by session, with the limits', async () => {
    const queue = queueOverview.parse(await get('queue'));
    expect(queue).toMatchObject({ queued: 2, running: 0, tenantAtOnce: null, atLeast: false });
    expect(queue.byAgent).toEqual([{ name: 'rare', queued: 2, running: 0, oldestAt: queue.oldestAt, atOnce: 3 }]);
    expect(queue.bySession.map(({ name, queued }) => [name, queued])).toEqual([
      ['chat', 1],
      ['talk', 1],
    ]);
    expect(Date.parse(queue.oldestAt ?? '')).toBeLessThanOrEqual(Date.now() + 5000);
    expect(queueOverview.parse(await get('queue', 'zoe'))).toMatchObject({ queued: 0, oldestAt: null, byAgent: [] });
  });

  test('errors are grouped by code, with the newest example', async () => {
    expect(failed.map(({ status }) => status)).toEqual(['failed', 'failed']);
    // It begins as the message ends, which is shown whole all the same.
    knowSecret('.begins-with-a-full-stop-0123456789');
    const groups = errorGroups.parse(await get('errors'));
    expect(groups.items).toEqual([
      {
        ...{ code: 'limit_turns', count: 2, runId: failed[1]?.id, message: failed[1]?.error?.message },
        ...{ firstAt: failed[0]?.completedAt, lastAt: failed[1]?.completedAt, byAgent: [{ name: 'asker', count: 2 }] },
      },
    ]);
    const later = encodeURIComponent(failed[1]?.completedAt ?? '');
    const [one] = errorGroups.parse(await get(`errors?to=${later}`)).items;
    expect(one?.count).toBe(1);
    expect(errorGroups.parse(await get('errors', 'zoe')).items).toEqual([]);
    const wrong = 'errors?from=2026-01-02T00:00:00Z&to=2026-01-01T00:00:00Z';
    expectProblem(await door.ask('vera', 'GET', `/api/v1/${wrong}`), 'invalid_request');
  });

  test('budgets say what is spent; those of all tenants are for the installation', async () => {
    const all = budgetList.parse(await get('budgets', 'adam')).items;
    const today = new Date().toISOString().slice(0, 10);
    expect(all.map(({ scope, name, limitUsd }) => [scope, name, limitUsd])).toEqual([
      ['agent', 'echo', '5'],
      ['tenant', 'default', '20'],
      ['all', '', '100'],
    ]);
    expect(all.map(({ day }) => day)).toEqual([today, null, today]);
    expect(all.every(({ spentUsd }) => Number(spentUsd) >= 0)).toBe(true);
    const ofZoe = budgetList.parse(await get('budgets', 'zoe')).items;
    expect(ofZoe.map(({ scope, name }) => [scope, name])).toEqual([['tenant', 'elsewhere']]);
  });

  test('series have a point for each day, and say nothing of another tenant', async () => {
    const from = new Date(Date.now() - 3 * 86_400_000).toISOString();
    const series = async (metric: string, more = '', actor: Actor = 'vera') =>
      statsSeries.parse(await get(`stats/series?metric=${metric}&from=${from}${more}`, actor));
    const runs = await series('runs');
    expect(runs.at).toHaveLength(4);
    expect(runs.series.map(({ key, total }) => [key, total])).toEqual([
      ['completed', 2],
      ['failed', 2],
      ['queued', 2],
    ]);
    expect(runs.series[0]?.points.at(0)).toBe(0);
    expect((await series('runs_by_agent')).series.map(({ key, total }) => [key, total])).toEqual([
      ['rare', 3],
      ['asker', 2],
      ['echo', 1],
    ]);
    expect((await series('decisions')).series).toMatchObject([{ key: 'answered', total: 2 }]);
    const waited = (await series('decide_ms', '&step=hour')).series;
    expect(waited.map(({ key }) => key)).toEqual(['p50', 'p95']);
    expect(waited.every(({ points, total }) => total === null && points.some((one) => one !== null && one > 0))).toBe(
      true,
    );
    for (const metric of SERIES_NAMES) expect((await series(metric, '', 'zoe')).series, metric).toEqual([]);
    for (const metric of SERIES_NAMES) expect((await series(metric)).atLeast, metric).toBe(false);
    const long = `stats/series?metric=runs&step=hour&from=2026-01-01T00:00:00Z`;
    expect(expectProblem(await door.ask('vera', 'GET', `/api/v1/${long}`), 'invalid_request').detail).toContain('366');
  });
});
