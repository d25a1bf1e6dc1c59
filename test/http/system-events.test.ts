import { afterAll, beforeAll, expect, test } from 'vitest';
import { z } from 'zod';
import { SYSTEM_EVENT_DATA, type SystemEvent, systemEvent } from '../../src/core/log/system-event.js';
import { runView } from '../../src/core/runs/run.js';
import { openDatabase } from '../../src/storage/database/open-database.js';
import { describeBothDatabasesSlowly } from '../harness/database.js';
import { type Actor, type Door, expectProblem, openDoor } from './door.js';
import { openStream, type Stream } from './event-stream.js';

const page = z.object({ items: z.array(systemEvent), nextCursor: z.string().nullable(), trimmed: z.int() });

describeBothDatabasesSlowly('GET /api/v1/events', (kind) => {
  let door: Door;
  beforeAll(async () => {
    door = await openDoor(kind);
  });
  afterAll(() => door.close());

  const read = async (query: string, actor: Actor = 'vera') =>
    page.parse((await door.ask(actor, 'GET', `/api/v1/events?${query}`)).json);
  const now = async (): Promise<string> => String((await read('cursor=now')).nextCursor);
  const told = ({ messages }: Stream): SystemEvent[] =>
    messages.flatMap(({ data, id }) => (id === undefined ? [] : [systemEvent.parse(JSON.parse(data))]));

  async function run(agent: string, actor: Actor = 'otto'): Promise<string> {
    const { json } = await door.ask(actor, 'POST', '/api/v1/runs', { agent, input: 'go' });
    const { id } = runView.parse(json);
    await door.ask(actor, 'GET', `/api/v1/runs/${id}?wait=20`);
    return id;
  }

  test('the steps of a run and its record are told live, and as a page', async () => {
    const cursor = await now();
    const stream = await openStream(door, 'vera', `/api/v1/events?cursor=now`);
    const id = await run('echo');
    await expect
      .poll(() => told(stream).map((event) => event.kind))
      .toEqual(expect.arrayContaining(['step.executed', 'trajectory.stored']));
    stream.close();
    const { items } = await read(`cursor=${cursor}&run=${id}`);
    expect(items).toEqual(told(stream).filter(({ runId }) => runId === id));
    const answered = { seq: 4, action: { type: 'model', turn: 1, model: 'echo' } };
    expect(items.map((event) => [event.kind, event.data])).toEqual([
      ['run.started', { agent: 'echo' }],
      ['step.executed', { ...answered, step: 1, reward: null, durationMs: expect.any(Number) }],
      ['run.ended', { status: 'completed', code: null }],
      ['trajectory.stored', { result: 'success', reward: null, steps: 1 }],
    ]);
    for (const { kind: name, data } of items) SYSTEM_EVENT_DATA[name as keyof typeof SYSTEM_EVENT_DATA].parse(data);
    expect((await read(`cursor=${cursor}&run=${id}&kind=trajectory.stored`)).items).toHaveLength(1);
    expect((await read(`cursor=${cursor}&task=${id}`)).items).toEqual([]);
  });

  test('what waits for people is told with its verdict; what a fork takes over is not told again', async () => {
    const cursor = await now();
    const id = await run('payer');
    const { interruptions } = runView.parse((await door.ask('vera', 'GET', `/api/v1/runs/${id}`)).json);
    const [wait = ''] = interruptions;
    await door.ask('anna', 'POST', `/api/v1/interruptions/${wait}/approve`, { message: 'A secret of anna.' });
    await door.ask('vera', 'GET', `/api/v1/runs/${id}?wait=20`);
    const about = async (of: string) =>
      (await read(`cursor=${cursor}&run=${of}&limit=200`)).items.filter(({ kind: name }) =>
        /^(run|interruption)\./.test(name),
      );
    const items = await about(id);
    expect(items.map((event) => [event.kind, event.data])).toEqual([
      ['run.started', { agent: 'payer' }],
      ['interruption.requested', { id: wait, kind: 'approval', tool: 'pay', expiresInMs: 7 * 86_400_000 }],
      ['run.paused', { waits: 1 }],
      ['interruption.decided', { id: wait, verdict: 'approve', actor: 'anna' }],
      ['run.continued', { segment: 1 }],
      ['run.ended', { status: 'completed', code: null }],
    ]);
    for (const { kind: name, data } of items) SYSTEM_EVENT_DATA[name as keyof typeof SYSTEM_EVENT_DATA].parse(data);
    expect(JSON.stringify(items)).not.toContain('secret');
    const fork = await door.ask('otto', 'POST', `/api/v1/runs/${id}/fork`, { at: 3 });
    const forked = runView.parse(fork.json).id;
    await door.ask('vera', 'GET', `/api/v1/runs/${forked}?wait=20`);
    expect((await about(forked)).map(({ kind: name }) => name).slice(0, 1)).toEqual(['run.started']);
    expect((await about(forked)).filter(({ kind: name }) => name === 'run.started')).toHaveLength(1);
  });

  test('the worker that serves has said so, to a role in the installation; runs of one tenant are not told to another', async () => {
    const id = await run('echo', 'zoe');
    const theirs = await read('cursor=0&limit=200', 'zoe');
    expect(theirs.items.map((event) => event.kind)).not.toContain('worker.registered');
    expect(theirs.items.filter(({ runId }) => runId === id).length).toBeGreaterThan(0);
    const ours = await read('cursor=0&limit=200');
    expect(ours.items.filter(({ tenant }) => tenant !== null && tenant !== 'default')).toEqual([]);
    expect(ours.items.map((event) => event.kind)).toContain('worker.registered');
    expect(ours.items.map(({ runId }) => runId)).not.toContain(id);
  });

  test('pages lead through all of it, and a stream goes on after the last id', async () => {
    await run('echo');
    const all = await read('cursor=0&limit=200');
    const seen: SystemEvent[] = [];
    for (let cursor: string | null = '0'; cursor !== null; ) {
      const { items, nextCursor } = await read(`cursor=${cursor}&limit=2`);
      seen.push(...items);
      cursor = nextCursor;
    }
    expect(seen.slice(0, all.items.length)).toEqual(all.items);
    const [first, second] = all.items;
    const stream = await openStream(door, 'vera', '/api/v1/events', { 'Last-Event-ID': String(first?.seq) });
    await expect.poll(() => told(stream)[0]).toEqual(second);
    stream.close();
    // An id that is not there yet is not waited for.
    const lost = await openStream(door, 'vera', '/api/v1/events?lastEventId=999999999');
    const id = await run('echo');
    await expect.poll(() => told(lost).map(({ runId }) => runId)).toContain(id);
    lost.close();
  });

  test('what waits in the queue is told', async () => {
    const cursor = await now();
    await run('rare');
    await door.ask('otto', 'POST', '/api/v1/runs', { agent: 'rare', input: 'go' });
    await expect
      .poll(async () => (await read(`cursor=${cursor}&kind=queue.depth_changed`)).items.at(-1)?.data, {
        timeout: 20_000,
      })
      .toEqual({ depth: 1, before: 0 });
  });

  // The embedded database is of the process that serves alone.
  test.runIf(kind === 'postgres')('a stream that is asked for what is gone says so first', async () => {
    const database = await openDatabase(door.database.options);
    const { knex } = database;
    const { items } = await read('cursor=0&limit=3');
    const upTo = items[1]?.seq ?? 0;
    await knex('holdfast.system_events').where('position', '<=', upTo).delete();
    await knex('holdfast.system_event_head').update({ trimmed: upTo });
    await database.close();
    const stream = await openStream(door, 'vera', '/api/v1/events?cursor=0');
    await expect.poll(() => stream.messages.length).toBeGreaterThan(1);
    stream.close();
    expect(stream.messages[0]).toMatchObject({
      event: 'events.trimmed',
      data: JSON.stringify({ type: 'trimmed', after: 0, upTo }),
    });
    expect(told(stream)[0]).toEqual(items[2]);
    expect((await read('cursor=0')).trimmed).toBe(upTo);
  });

  test('what cannot be is refused by its name', async () => {
    const ask = (query: string) => door.ask('vera', 'GET', `/api/v1/events?${query}`);
    for (const query of ['cursor=x', 'kind=run.created', 'limit=0', 'task=', 'more=1'])
      expectProblem(await ask(query), 'invalid_request');
    expectProblem(await door.ask(null, 'GET', '/api/v1/events'), 'unauthenticated');
  });
});
