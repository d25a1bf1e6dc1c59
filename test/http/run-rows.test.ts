import { afterAll, beforeAll, expect, test } from 'vitest';
import { chargeView } from '../../src/core/budgets/charge.js';
import { runRow } from '../../src/core/interruptions/run-rows.js';
import { pageOf } from '../../src/core/operations/fields.js';
import { type RunView, runView } from '../../src/core/runs/run.js';
import { runCounts } from '../../src/core/runs/run-counts.js';
import { CONSOLE_AGENTS } from '../console/agents.js';
import { describeEachDatabase } from '../harness/database.js';
import { type Actor, type Door, expectProblem, openDoor } from './door.js';

describeEachDatabase('runs in short over HTTP', (kind) => {
  let door: Door;
  let paused: RunView;
  let failed: RunView;
  beforeAll(async () => {
    door = await openDoor(kind, CONSOLE_AGENTS);
    paused = await rest('cashier', 'Refund "order 1042", says Zoë: 50% off.');
    failed = await rest('cashier', `${'long '.repeat(2000)}needle`, { maxTurns: 1 });
  });
  afterAll(() => door.close());

  async function rest(agent: string, input: string, more: object = {}): Promise<RunView> {
    const { json } = await door.ask('otto', 'POST', '/api/v1/runs', { agent, input, ...more });
    return runView.parse((await door.ask('vera', 'GET', `/api/v1/runs/${runView.parse(json).id}?wait=20`)).json);
  }
  const rows = async (query: string, actor: Actor = 'vera') => {
    const answer = await door.ask(actor, 'GET', `/api/v1/runs/rows?${query}`);
    expect(answer.status, answer.text).toBe(200);
    return pageOf(runRow).parse(answer.json);
  };
  const idsOf = async (text: string, more = '') =>
    (await rows(`q=${encodeURIComponent(text)}${more}`)).items.map(({ id }) => id);

  test('say what each waits for or failed with, and no more of the input than fits a line', async () => {
    const { items } = await rows('');
    expect(items.map(({ id }) => id)).toEqual([failed.id, paused.id]);
    expect(items[0]).toMatchObject({ status: 'failed', errorCode: 'limit_turns', waitingFor: null, turns: 1 });
    // Less where its end could be the beginning of a secret that the process knows, and those of tests are random.
    const shown = items[0]?.inputPreview.length ?? 0;
    expect(shown).toBeGreaterThan(140);
    expect(shown).toBeLessThanOrEqual(160);
    expect(items[1]).toMatchObject({
      ...{ status: 'paused', errorCode: null, agent: 'cashier', integrity: [] },
      inputPreview: 'Refund "order 1042", says Zoë: 50% off.',
      waitingFor: { kind: 'approval', count: 1 },
    });
    expect(JSON.stringify(items)).not.toContain('"output"');
    expect((await rows('', 'zoe')).items).toEqual([]);
  });

  test('are found by a text of the input or by the beginning of the id, with the other filters', async () => {
    expect(await idsOf('"ORDER 1042"')).toEqual([paused.id]);
    expect(await idsOf('50% o')).toEqual([paused.id]);
    expect(await idsOf('5_% o')).toEqual([]);
    expect(await idsOf('long')).toEqual([failed.id]);
    expect(await idsOf('needle')).toEqual([]);
    expect(await idsOf(paused.id.slice(0, 20))).toEqual([paused.id]);
    expect(await idsOf('refund', '&status=failed')).toEqual([]);
    expect(await idsOf('o', '&limit=1')).toEqual([failed.id]);
    const { nextCursor } = await rows('q=o&limit=1');
    expect((await rows(`q=o&limit=1&cursor=${nextCursor}`)).items.map(({ id }) => id)).toEqual([paused.id]);
    expectProblem(await door.ask('vera', 'GET', '/api/v1/runs/rows?q='), 'invalid_request');
    expectProblem(
      await door.ask('vera', 'GET', `/api/v1/runs/rows?order=cost&cursor=${nextCursor}`),
      'invalid_request',
    );
    expectProblem(await door.ask('vera', 'GET', '/api/v1/runs/rows?cursor=x'), 'invalid_request');
  });

  test('are narrowed by tag, by the model that was asked, by task and by what they wait for', async () => {
    const odd = await rest('clerk', 'tagged', { metadata: { tags: ['monday', 'a"b'], note: 'x' } });
    // Not what `jsonb` takes: such a run is in no list by tag, and in all others.
    const nul = await rest('clerk', 'tagged, too', { metadata: { tags: ['monday'], note: '\u0000' } });
    const narrowed = async (query: string) => (await rows(query)).items.map(({ id }) => id);
    expect(await narrowed('tag=monday')).toEqual([odd.id]);
    expect(await narrowed(`tag=${encodeURIComponent('a"b')}`)).toEqual([odd.id]);
    expect(await narrowed('tag=tuesday')).toEqual([]);
    expect(await narrowed('waiting=question')).toEqual([nul.id, odd.id]);
    expect(await narrowed('waiting=approval')).toEqual([paused.id]);
    expect(await narrowed('waiting=approval&status=failed')).toEqual([]);
    expect(await narrowed('task=task_of_none')).toEqual([]);
    const { json } = await door.ask('vera', 'GET', `/api/v1/runs/${paused.id}/charges`);
    const [charge] = pageOf(chargeView).parse(json).items;
    expect(await narrowed(`model=${encodeURIComponent(charge?.model ?? '')}&agent=cashier`)).toEqual([
      failed.id,
      paused.id,
    ]);
    expect(await narrowed('model=none')).toEqual([]);
    expect(await narrowed('tag=monday&q=tagged')).toEqual([odd.id]);
    for (const query of ['tag=monday', 'waiting=question', 'model=scripted'])
      expect((await rows(query, 'zoe')).items).toEqual([]);
    const { json: counts } = await door.ask('vera', 'GET', '/api/v1/runs/counts?waiting=question');
    expect(runCounts.parse(counts).byStatus.paused).toBe(2);
    expectProblem(await door.ask('vera', 'GET', '/api/v1/runs/rows?waiting=rain'), 'invalid_request');
  });

  test('stand by duration or by cost where they have one, and a cursor goes with its order', async () => {
    expect((await rows('order=duration&agent=cashier')).items.map(({ id }) => id)).toEqual([failed.id]);
    expect((await rows('order=cost')).items).toEqual([]);
    for (const [order, place] of [
      ['cost', '1e9'],
      ['duration', '7'],
    ]) {
      const cursor = Buffer.from(JSON.stringify([order, place, 'x'])).toString('base64url');
      expectProblem(await door.ask('vera', 'GET', `/api/v1/runs/rows?order=cost&cursor=${cursor}`), 'invalid_request');
    }
    expectProblem(await door.ask('vera', 'GET', '/api/v1/runs/rows?order=age'), 'invalid_request');
  });
});
