import { afterAll, beforeAll, expect, test } from 'vitest';
import { runEvent } from '../../src/core/log/event.js';
import { foundTexts } from '../../src/core/log/find.js';
import { pageOf } from '../../src/core/operations/fields.js';
import { runView } from '../../src/core/runs/run.js';
import { CONSOLE_AGENTS } from '../console/agents.js';
import { describeEachDatabase } from '../harness/database.js';
import { type Door, expectProblem, openDoor } from './door.js';

describeEachDatabase('events of a run over HTTP', (kind) => {
  let door: Door;
  let id: string;
  beforeAll(async () => {
    door = await openDoor(kind, CONSOLE_AGENTS);
    const input = 'Refund order 1042 (50% of a*b), says Zoë.';
    const { json } = await door.ask('otto', 'POST', '/api/v1/runs', { agent: 'cashier', input });
    id = runView.parse(json).id;
    await door.ask('vera', 'GET', `/api/v1/runs/${id}?wait=20`);
  });
  afterAll(() => door.close());

  const page = async (query: string) =>
    pageOf(runEvent).parse((await door.ask('vera', 'GET', `/api/v1/runs/${id}/events?${query}`)).json);
  const find = async (query: string) =>
    foundTexts.parse((await door.ask('vera', 'GET', `/api/v1/runs/${id}/find?${query}`)).json);

  test('one is read by its number', async () => {
    const [first] = (await page('limit=1')).items;
    expect((await door.ask('vera', 'GET', `/api/v1/runs/${id}/events/1`)).json).toEqual(first);
    const missing = await door.ask('vera', 'GET', `/api/v1/runs/${id}/events/999999999`);
    expect(expectProblem(missing, 'event_unknown').detail).toContain('999999999');
    for (const seq of ['0', '-1', 'x', '9999999999'])
      expectProblem(await door.ask('vera', 'GET', `/api/v1/runs/${id}/events/${seq}`), 'invalid_request');
    expectProblem(await door.ask('zoe', 'GET', `/api/v1/runs/${id}/events/1`), 'run_unknown');
  });

  test('pages go from the end to the beginning, and are narrowed by kind', async () => {
    const all = (await page('limit=200')).items.map(({ seq }) => seq);
    const back: number[] = [];
    for (let cursor: string | null = '0'; cursor !== null; ) {
      const { items, nextCursor } = await page(`order=desc&limit=4&cursor=${cursor}`);
      back.push(...items.map(({ seq }) => seq));
      cursor = nextCursor;
    }
    expect(back.toReversed()).toEqual(all);
    const kinds = (await page('kind=model.responded')).items.map((event) => event.kind);
    expect(kinds).toEqual(['model.responded', 'model.responded']);
    expect((await page('kind=model.responded&order=desc&limit=1')).items[0]?.seq).toBeGreaterThan(6);
    expect((await page('kind=no.such')).items).toEqual([]);
    const streamed = await door.ask('vera', 'GET', `/api/v1/runs/${id}/events?order=desc&kind=a`, undefined, {
      Accept: 'text/event-stream',
    });
    expect(expectProblem(streamed, 'invalid_request').errors).toHaveLength(2);
  });

  test('a text is found in values and in names, with its place and what is around it', async () => {
    const { items, nextCursor, upTo } = await find(`q=${encodeURIComponent('50% OF A*B')}`);
    expect(items[0]).toMatchObject({
      seq: 1,
      kind: 'run.created',
      pointer: expect.stringMatching(/^\/.*input/),
      before: 'Refund order 1042 (',
      match: '50% of a*b',
      after: '), says Zoë.',
    });
    expect(nextCursor).toBeNull();
    expect(upTo).toBe((await page('order=desc&limit=1')).items[0]?.seq);
    expect((await find('q=ZO%C3%8B')).items[0]?.match).toBe('Zoë');
    expect((await find('q=8000')).items.map(({ match }) => match)).toContain('8000');
    expect((await find('q=callId')).items.length).toBeGreaterThan(0);
    expect((await find(`q=${encodeURIComponent('.*')}`)).items).toEqual([]);
  });

  test('finding goes on where it has stopped', async () => {
    const whole = (await find('q=r&limit=200')).items;
    const found: unknown[] = [];
    for (let cursor: string | null = '0'; cursor !== null; ) {
      const { items, nextCursor } = await find(`q=r&limit=1&cursor=${cursor}`);
      found.push(...items);
      cursor = nextCursor;
    }
    expect(found).toEqual(whole);
    expectProblem(await door.ask('vera', 'GET', `/api/v1/runs/${id}/find?q=`), 'invalid_request');
    expectProblem(await door.ask('zoe', 'GET', `/api/v1/runs/${id}/find?q=r`), 'run_unknown');
  });
});
