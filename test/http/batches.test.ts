import { afterAll, beforeAll, expect, test } from 'vitest';
import { pageOf } from '../../src/core/operations/fields.js';
import { taskGroups } from '../../src/core/quality/task-groups.js';
import { runView } from '../../src/core/runs/run.js';
import { batchRow, batchView, cancelledBatch } from '../../src/core/tasks/batch.js';
import { taskView } from '../../src/core/tasks/task.js';
import { aTask } from '../core/tasks/a-task.js';
import { describeEachDatabase } from '../harness/database.js';
import { type Actor, bearer, type Door, expectProblem, openDoor } from './door.js';

describeEachDatabase('batches over HTTP', (kind) => {
  let door: Door;
  beforeAll(async () => {
    door = await openDoor(kind);
    // Its rate is used up by this one.
    const { json } = await door.ask('otto', 'POST', '/api/v1/runs', { agent: 'rare', input: 'go' });
    await door.ask('vera', 'GET', `/api/v1/runs/${runView.parse(json).id}?wait=20`);
  });
  afterAll(() => door.close());

  /** Runs of this agent wait for their rate. */
  const line = (name: string) => ({ task: { ...aTask(), name }, agent: 'rare' });
  async function submit(key: string, lines: readonly unknown[], actor: Actor = 'otto'): Promise<void> {
    const headers = { ...bearer(actor), 'Content-Type': 'application/x-ndjson', 'Idempotency-Key': key };
    const body = lines.map((one) => JSON.stringify(one)).join('\n');
    const answer = await fetch(`${door.http.url}/api/v1/tasks/batch`, { method: 'POST', headers, body });
    expect(answer.status).toBe(200);
    await answer.text();
  }
  const read = async (path: string, actor: Actor = 'vera') => {
    const answer = await door.ask(actor, 'GET', `/api/v1/${path}`);
    expect(answer.status, answer.text).toBe(200);
    return answer.json;
  };

  test('are kept with what became of their lines, listed newest first, and read with their tasks', async () => {
    await submit('monday', [line('sort'), line('sort'), line('find'), { ...line('sort'), agent: 'nobody' }]);
    await submit('tuesday', [line('sort')]);
    // The same request again changes nothing but says the same.
    await submit('monday', [line('sort'), line('sort'), line('find'), { ...line('sort'), agent: 'nobody' }], 'adam');
    await submit('none', [{ ...line('sort'), agent: 'nobody' }]);
    const { items } = pageOf(batchRow).parse(await read('batches'));
    expect(items.map(({ key }) => key)).toEqual(['tuesday', 'monday']);
    expect(items[1]).toMatchObject({
      ...{ actor: 'otto', lines: 4, refused: 1, tasks: 3, open: 3, completed: 0, failed: 0, cancelled: 0 },
      ...{ passRate: null, meanReward: null, atLeast: false },
    });
    const first = pageOf(batchRow).parse(await read('batches?limit=1'));
    const second = pageOf(batchRow).parse(await read(`batches?limit=1&cursor=${first.nextCursor}`));
    expect([...first.items, ...second.items].map(({ key }) => key)).toEqual(['tuesday', 'monday']);
    const whole = batchView.parse(await read('batches/monday'));
    expect(whole).toMatchObject({ tasks: 3, costUsd: '0', unpriced: 0, failures: [], endedLastHour: 0 });
    expect(whole.byResult).toEqual({ success: 0, partial_success: 0, failure: 0, timeout: 0, error: 0 });
    const tasks = pageOf(taskView).parse(await read('tasks?batch=monday')).items;
    expect(tasks.map(({ name, batch }) => `${name} of ${batch}`).sort()).toEqual([
      ...['find of monday', 'sort of monday', 'sort of monday'],
    ]);
    expect(tasks.map(({ status }) => status).sort()).toEqual(
      Object.entries(whole.byStatus)
        .flatMap(([status, n]) => Array.from({ length: n }, () => status))
        .sort(),
    );
    expect(pageOf(batchRow).parse(await read('batches', 'zoe')).items).toEqual([]);
    expectProblem(await door.ask('zoe', 'GET', '/api/v1/batches/monday'), 'batch_unknown');
  });

  test('are grouped by what their tasks have', async () => {
    const { items, atLeast } = taskGroups.parse(await read('tasks/groups?by=name&batch=monday'));
    expect(items.map(({ name, tasks }) => [name, tasks])).toEqual([
      ['sort@1.0.0', 2],
      ['find@1.0.0', 1],
    ]);
    expect(atLeast).toBe(false);
    for (const by of ['agent', 'category', 'difficulty'])
      expect(taskGroups.parse(await read(`tasks/groups?by=${by}`)).items).toMatchObject([{ tasks: 4, passRate: null }]);
    expect(taskGroups.parse(await read('tasks/groups?by=model')).items).toEqual([]);
    expect(taskGroups.parse(await read('tasks/groups?by=name', 'zoe')).items).toEqual([]);
    expectProblem(await door.ask('vera', 'GET', '/api/v1/tasks/groups?by=weather'), 'invalid_request');
  });

  test('are cancelled as far as their tasks are open, and no one asks twice for what is done', async () => {
    const cancel = async (actor: Actor, key = 'monday') =>
      door.ask(actor, 'POST', `/api/v1/batches/${key}/cancel`, { reason: 'Wrong version.' });
    expectProblem(await cancel('vera'), 'forbidden');
    expectProblem(await cancel('zoe'), 'batch_unknown');
    expect(cancelledBatch.parse((await cancel('otto')).json)).toEqual({ cancelled: 3, left: 0 });
    expect(cancelledBatch.parse((await cancel('otto')).json)).toEqual({ cancelled: 0, left: 0 });
    const [first] = pageOf(taskView).parse(await read('tasks?batch=monday')).items;
    expect(first).toMatchObject({ status: 'cancelled', result: { type: 'failure', reason: 'Wrong version.' } });
    const whole = batchView.parse(await read('batches/monday'));
    expect(whole).toMatchObject({ open: 0, cancelled: 3, byStatus: { cancelled: 3, queued: 0 }, passRate: null });
    expect(whole.failures).toMatchObject([{ type: 'failure', name: 'Wrong version.', count: 3 }]);
    expect(batchView.parse(await read('batches/tuesday')).open).toBe(1);
  });
});
