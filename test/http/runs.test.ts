import { Agent } from '@openai/agents';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { pageOf } from '../../src/core/operations/fields.js';
import { listedRun, type RunView, runView } from '../../src/core/runs/run.js';
import { bulkResult, runCounts, runFamily } from '../../src/core/runs/run-counts.js';
import { defineAgent, subAgent } from '../../src/index.js';
import { describeEachDatabase } from '../harness/database.js';
import { call, say, scripted } from '../harness/script.js';
import { type Actor, type Door, openDoor } from './door.js';

const AGENTS = [
  defineAgent({ agent: new Agent({ name: 'echo', model: scripted([[say('hello')]]) }) }),
  defineAgent({
    agent: new Agent({
      name: 'parent',
      model: scripted([[call('echo', { input: 'Say it.' }, 'e1')], [say('done')]]),
      tools: [subAgent({ agent: 'echo' })],
    }),
    grants: ['tool:call:echo'],
  }),
];

describeEachDatabase('lists and counts of runs over HTTP', (kind) => {
  let door: Door;
  let runs: Record<'first' | 'failed' | 'parent' | 'talk', RunView>;
  beforeAll(async () => {
    door = await openDoor(kind, AGENTS);
    const [first, failed] = [await over('echo'), await over('parent', { maxTurns: 1 })];
    runs = { first, failed, parent: await over('parent'), talk: await over('echo', { sessionId: 'talk' }) };
  });
  afterAll(() => door.close());

  const read = async (id: string): Promise<RunView> =>
    runView.parse((await door.ask('vera', 'GET', `/api/v1/runs/${id}?wait=20`)).json);
  async function over(agent: string, more: object = {}): Promise<RunView> {
    const { json } = await door.ask('otto', 'POST', '/api/v1/runs', { agent, input: 'go', ...more });
    return read(runView.parse(json).id);
  }
  const list = async (query: string): Promise<string[]> => {
    const answer = await door.ask('vera', 'GET', `/api/v1/runs?${query}`);
    expect(answer.status, answer.text).toBe(200);
    return pageOf(listedRun)
      .parse(answer.json)
      .items.map(({ id }) => id);
  };
  const counts = async (query = '', actor: Actor = 'vera') => {
    const answer = await door.ask(actor, 'GET', `/api/v1/runs/counts?${query}`);
    expect(answer.status, answer.text).toBe(200);
    return runCounts.parse(answer.json);
  };

  test('are narrowed by error, session and time', async () => {
    const { failed, talk, first } = runs;
    expect(failed.status).toBe('failed');
    const code = failed.error?.code ?? '';
    expect(await list(`error=${code}`)).toEqual([failed.id]);
    expect(await list('error=limit_tokens')).toEqual([]);
    expect(await list('session=talk')).toEqual([talk.id]);
    const since = encodeURIComponent(failed.createdAt);
    expect(await list(`from=${since}`)).not.toContain(first.id);
    expect(await list(`from=${since}`)).toContain(failed.id);
    expect(await list(`to=${since}`)).toEqual([first.id]);
    const refused = await door.ask('vera', 'GET', '/api/v1/runs?from=yesterday&error=A');
    expect(refused.json).toMatchObject({ errors: [{ pointer: '/query/error' }, { pointer: '/query/from' }] });
  });

  test('are counted by status, by error and by hour, with the same filters', async () => {
    const all = await counts();
    expect(all).toMatchObject({ byStatus: { completed: 4, failed: 1, running: 0, queued: 0 }, atLeast: false });
    expect(all.byError).toMatchObject([{ name: runs.failed.error?.code, count: 1, runId: runs.failed.id }]);
    expect(all.byHour.reduce((sum, { ended }) => sum + ended, 0)).toBe(5);
    expect(all.byHour.reduce((sum, { failed }) => sum + failed, 0)).toBe(1);
    expect((await counts('agent=echo')).byStatus).toMatchObject({ completed: 3, failed: 0 });
    expect((await counts('status=failed')).byStatus).toMatchObject({ completed: 0, failed: 1 });
    expect(await counts('', 'zoe')).toMatchObject({ byStatus: { completed: 0, failed: 0 }, byError: [], byHour: [] });
  });

  test('a family is the runs above and below, and the forks of them', async () => {
    const { parent, first } = runs;
    const { json } = await door.ask('otto', 'POST', `/api/v1/runs/${parent.id}/fork`, { at: 1 });
    const fork = await read(runView.parse(json).id);
    const familyOf = async (id: string, actor: Actor = 'vera') => door.ask(actor, 'GET', `/api/v1/runs/${id}/family`);
    const family = runFamily.parse((await familyOf(parent.id)).json);
    const child = family.items.find(({ parentRunId }) => parentRunId === parent.id);
    expect(child).toMatchObject({ agent: 'echo', callId: 'e1' });
    expect(family.items).toContainEqual(
      expect.objectContaining({ id: fork.id, forkedFrom: { runId: parent.id, seq: 1 } }),
    );
    const ids = ({ items }: typeof family) => items.map(({ id }) => id);
    expect(ids(runFamily.parse((await familyOf(child?.id ?? '')).json))).toEqual(ids(family));
    expect(runFamily.parse((await familyOf(first.id)).json).items).toHaveLength(1);
    expect((await familyOf(parent.id, 'zoe')).status).toBe(404);
  });

  test('many are tried again or cancelled in a request, and what is refused of one stops no other', async () => {
    const { first, failed } = runs;
    const bulk = async (actor: Actor, body: object, headers: Record<string, string> = {}) => {
      const answer = await door.ask(actor, 'POST', '/api/v1/runs/bulk', body, headers);
      expect(answer.status, answer.text).toBe(200);
      return bulkResult.parse(answer.json).items;
    };
    const retry = { action: 'retry', ids: [failed.id, first.id, 'run_x', failed.id] };
    const key = { 'Idempotency-Key': '"again"' };
    const tried = await bulk('otto', retry, key);
    expect(tried).toMatchObject([
      { id: failed.id, run: { id: expect.stringMatching(/^run_/) }, error: null },
      { id: first.id, run: null, error: { code: 'run_not_failed' } },
      { id: 'run_x', run: null, error: { code: 'run_unknown' } },
    ]);
    expect((await bulk('otto', retry, key))[0]?.run?.id).toBe(tried[0]?.run?.id);
    expect(await bulk('zoe', { action: 'cancel', ids: [failed.id] })).toMatchObject([
      { run: null, error: { code: 'run_unknown' } },
    ]);
    expect(await bulk('otto', { action: 'cancel', ids: [first.id] })).toMatchObject([{ error: { code: 'run_over' } }]);
    for (const body of [{ action: 'cancel', ids: [] }, { action: 'erase', ids: ['a'] }, { ids: ['a'] }])
      expect((await door.ask('otto', 'POST', '/api/v1/runs/bulk', body)).status).toBe(400);
    expect((await door.ask('vera', 'POST', '/api/v1/runs/bulk', retry)).status).toBe(403);
  });
});
