import { afterAll, beforeAll, expect, test } from 'vitest';
import { runRow } from '../../src/core/interruptions/run-rows.js';
import { pageOf } from '../../src/core/operations/fields.js';
import { type RunView, runView } from '../../src/core/runs/run.js';
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
    expectProblem(await door.ask('vera', 'GET', '/api/v1/runs/rows?cursor=x'), 'invalid_request');
  });
});
