import { afterAll, beforeAll, expect, test } from 'vitest';
import { pageOf } from '../../src/core/operations/fields.js';
import { accessView } from '../../src/core/ops/overview.js';
import { type RunView, runView } from '../../src/core/runs/run.js';
import { describeEachDatabase } from '../harness/database.js';
import { type Actor, type Door, expectProblem, openDoor } from './door.js';

describeEachDatabase('the access log over HTTP', (kind) => {
  let door: Door;
  let run: RunView;
  let other: RunView;
  const start = async (): Promise<RunView> => {
    const { json } = await door.ask('otto', 'POST', '/api/v1/runs', { agent: 'payer', input: 'go' });
    return runView.parse((await door.ask('vera', 'GET', `/api/v1/runs/${runView.parse(json).id}?wait=20`)).json);
  };
  beforeAll(async () => {
    door = await openDoor(kind);
    [run, other] = [await start(), await start()];
    const wait = run.interruptions[0] ?? '';
    await door.ask('vera', 'POST', `/api/v1/interruptions/${wait}/approve`, {});
    await door.ask('anna', 'POST', `/api/v1/interruptions/${wait}/approve`, {});
    await door.ask('vera', 'GET', `/api/v1/runs/${run.id}?wait=20`);
    await door.ask('otto', 'POST', `/api/v1/runs/${run.id}/reward`, { reward: 1 });
    await door.ask('otto', 'POST', `/api/v1/runs/${other.id}/cancel`, {});
  });
  afterAll(() => door.close());
  const read = async (path: string, actor: Actor = 'adam') => {
    const { json, status, text } = await door.ask(actor, 'GET', `/api/v1/${path}`);
    expect(status, text).toBe(200);
    return pageOf(accessView).parse(json);
  };

  test('says who asked for what and how it was answered, newest first, page after page', async () => {
    const { items } = await read('access');
    expect(items.map(({ actor, method, route, status }) => [actor, `${method} ${route}`, status])).toEqual([
      ['otto', 'POST /api/v1/runs/{id}/cancel', 200],
      ['otto', 'POST /api/v1/runs/{id}/reward', 200],
      ['anna', 'POST /api/v1/interruptions/{id}/approve', 200],
      ['vera', 'POST /api/v1/interruptions/{id}/approve', 403],
    ]);
    const seen: string[] = [];
    for (let cursor: string | null = ''; cursor !== null; ) {
      const page: Awaited<ReturnType<typeof read>> = await read(
        `access?limit=1${cursor === '' ? '' : `&cursor=${cursor}`}`,
      );
      seen.push(...page.items.map(({ id }) => id));
      cursor = page.nextCursor;
    }
    expect(seen).toEqual(items.map(({ id }) => id));
    expect((await read('access?actor=anna')).items).toHaveLength(1);
    expect((await read('access', 'zoe')).items).toEqual([]);
  });

  test('tells of a run what was asked about it and about what it waited for', async () => {
    const { items } = await read(`runs/${run.id}/access`);
    expect(items.map(({ route, target }) => [route, target])).toEqual([
      ['/api/v1/runs/{id}/reward', run.id],
      ['/api/v1/interruptions/{id}/approve', run.interruptions[0]],
      ['/api/v1/interruptions/{id}/approve', run.interruptions[0]],
    ]);
    expect((await read(`runs/${other.id}/access`)).items.map(({ route }) => route)).toEqual([
      '/api/v1/runs/{id}/cancel',
    ]);
    expect((await read(`runs/${run.id}/access?actor=otto`)).items).toHaveLength(1);
    expectProblem(await door.ask('zoe', 'GET', `/api/v1/runs/${run.id}/access`), 'run_unknown');
    expectProblem(await door.ask('otto', 'GET', '/api/v1/access'), 'forbidden');
  });
});
