import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { interruptionView } from '../../src/core/interruptions/interruption.js';
import { runEvent } from '../../src/core/log/event.js';
import { verifyReport } from '../../src/core/log/verify-log.js';
import { pageOf } from '../../src/core/operations/fields.js';
import { type RunView, runView } from '../../src/core/runs/run.js';
import { aTask } from '../core/tasks/a-task.js';
import { describeEachDatabase } from '../harness/database.js';
import { type Actor, type Door, expectProblem, openDoor } from './door.js';

describeEachDatabase('the routes', (kind) => {
  let door: Door;
  beforeAll(async () => {
    door = await openDoor(kind);
  });
  afterAll(() => door.close());

  async function start(agent: string, headers?: Record<string, string>): Promise<RunView> {
    const answer = await door.ask('otto', 'POST', '/api/v1/runs', { agent, input: 'go' }, headers);
    expect(answer.status).toBe(202);
    return runView.parse(answer.json);
  }

  const settled = async (id: string): Promise<RunView> => {
    const answer = await door.ask('vera', 'GET', `/api/v1/runs/${id}?wait=20`);
    return runView.parse(answer.json);
  };

  async function paused(): Promise<{ run: RunView; interruption: string }> {
    const run = await settled((await start('payer')).id);
    expect(run.status).toBe('paused');
    return { run, interruption: run.interruptions[0] ?? '' };
  }

  test('a run is started, waited for, read, listed, folded and verified', async () => {
    const answer = await door.ask('otto', 'POST', '/api/v1/runs', { agent: 'echo', input: 'go', metadata: { a: 1 } });
    const { id } = runView.parse(answer.json);
    expect(answer.headers.get('location')).toBe(`/api/v1/runs/${id}`);
    expect(await settled(id)).toMatchObject({ id, status: 'completed', output: 'hello', metadata: { a: 1 } });
    const { json } = await door.ask('vera', 'GET', '/api/v1/runs?agent=echo&status=completed');
    expect(
      pageOf(runView)
        .parse(json)
        .items.map((run) => run.id),
    ).toContain(id);
    expect((await door.ask('vera', 'GET', `/api/v1/runs/${id}/trajectory`)).json).toMatchObject({
      runId: id,
      totalSteps: 1,
    });
    expect((await door.ask('vera', 'POST', `/api/v1/runs/${id}/verify`)).json).toMatchObject({
      ok: true,
      complete: true,
    });
    const range = await door.ask('vera', 'POST', `/api/v1/runs/${id}/verify`, { from: 1, to: 2 });
    expect(range.json).toMatchObject({ ok: true, events: 2, complete: false });
    const all = await door.ask('vera', 'GET', '/api/v1/verify?agent=echo&status=completed');
    expect(pageOf(verifyReport).parse(all.json).items).toContainEqual(expect.objectContaining({ runId: id, ok: true }));
    const state = await door.ask('vera', 'GET', `/api/v1/runs/${id}/state?at=1`);
    expect(state.json).toMatchObject({ runId: id, seq: 1, state: { status: 'queued' } });
    const other = await settled((await start('echo')).id);
    const diff = await door.ask('vera', 'GET', `/api/v1/runs/${id}/diff/${other.id}`);
    expect(diff.json).toMatchObject({ a: id, b: other.id, firstDifference: null });
  });

  test('a run is rewarded and found by its result', async () => {
    const { id } = await settled((await start('echo')).id);
    const path = `/api/v1/runs/${id}/reward`;
    const given = { reward: 0.5, signals: { tests: 0.5 }, reason: 'Half of it.' };
    expectProblem(await door.ask('vera', 'POST', path, given), 'forbidden');
    expectProblem(await door.ask('zoe', 'POST', path, given), 'run_unknown');
    for (const bad of [
      {},
      { reward: '1' },
      { reward: 1e7 },
      { reward: 1, signals: { '': 1 } },
      { reward: 1, by: 'me' },
    ])
      expectProblem(await door.ask('otto', 'POST', path, bad), 'invalid_request');
    expect((await door.ask('otto', 'POST', path, given)).json).toMatchObject({ ...given, version: 1, actor: 'otto' });
    const found = await door.ask(
      'vera',
      'GET',
      '/api/v1/trajectories?result=partial_success&minReward=0.5&maxReward=0.5',
    );
    expect(found.json).toMatchObject({ items: [{ runId: id, totalReward: 0.5 }], nextCursor: null });
    const scores = 'minQuality=0&maxQuality=1&minDiversity=0.0&maxDiversity=1';
    const scored = await door.ask('vera', 'GET', `/api/v1/trajectories?minReward=0.5&${scores}`);
    expect(scored.json).toMatchObject({ items: [{ runId: id }] });
    expect((await door.ask('vera', 'GET', `/api/v1/tasks?maxReward=-1&${scores}`)).json).toMatchObject({ items: [] });
    for (const list of ['trajectories', 'tasks'])
      expectProblem(await door.ask('vera', 'GET', `/api/v1/${list}?minQuality=much`), 'invalid_request');
    expect((await door.ask('zoe', 'GET', '/api/v1/trajectories')).json).toEqual({ items: [], nextCursor: null });
    expect((await door.ask('vera', 'GET', `/api/v1/runs/${id}/rewards`)).json).toMatchObject({
      items: [{ version: 1 }],
    });
    expect((await door.ask('vera', 'GET', `/api/v1/trajectories/${id}?after=1`)).json).toMatchObject({ steps: [] });
  });

  test('lists are read page by page', async () => {
    const started = [await start('echo'), await start('echo'), await start('echo')].map(({ id }) => id);
    const seen: string[] = [];
    let cursor = '';
    do {
      const { json } = await door.ask('vera', 'GET', `/api/v1/runs?limit=2${cursor}`);
      const page = pageOf(runView).parse(json);
      expect(page.items.length).toBeLessThanOrEqual(2);
      seen.push(...page.items.map(({ id }) => id));
      cursor = page.nextCursor === null ? '' : `&cursor=${page.nextCursor}`;
    } while (cursor !== '');
    expect(new Set(seen).size).toBe(seen.length);
    expect(seen.slice(0, 3)).toEqual(started.toReversed());
  });

  test('events are read page by page, by sequence number', async () => {
    const { id } = await settled((await start('echo')).id);
    const first = await door.ask('vera', 'GET', `/api/v1/runs/${id}/events?limit=2`);
    expect(first.json).toMatchObject({ items: [{ seq: 1, kind: 'run.created' }, { seq: 2 }], nextCursor: '2' });
    const second = await door.ask('vera', 'GET', `/api/v1/runs/${id}/events?cursor=2`);
    const { items, nextCursor } = pageOf(runEvent).parse(second.json);
    expect(items[0]?.seq).toBe(3);
    expect(items.at(-1)?.kind).toBe('run.completed');
    expect(nextCursor).toBeNull();
  });

  test('after a sequence number beyond every log there is nothing', async () => {
    const { id } = await settled((await start('echo')).id);
    for (const seq of [2 ** 31, 999_999_999_999_999]) {
      const page = await door.ask('vera', 'GET', `/api/v1/runs/${id}/events?cursor=${seq}`);
      expect(page.json).toEqual({ items: [], nextCursor: null });
      const stream = await door.ask('vera', 'GET', `/api/v1/runs/${id}/events`, undefined, {
        Accept: 'text/event-stream',
        'Last-Event-ID': String(seq),
      });
      expect(stream.text).toMatch(/event: end\ndata: {"status":"completed"}/);
    }
  });

  test('before the year 1 there is nothing', async () => {
    const year0 = '0000-01-01T00:00:00.000Z';
    for (const path of ['tasks/pass-rates?', 'tasks/groups?by=name&', 'runs?'])
      expect((await door.ask('vera', 'GET', `/api/v1/${path}to=${year0}`)).json).toMatchObject({ items: [] });
    const cursor = Buffer.from(JSON.stringify([year0, 'x'])).toString('base64url');
    const versions = await door.ask('vera', 'GET', `/api/v1/evolution?cursor=${cursor}`);
    expect(versions.json).toMatchObject({ items: [] });
  });

  test('a time is read with every offset, and a range that no answer could say is refused', async () => {
    const late = '9999-12-31T23:59:59-23:59';
    for (const path of ['trajectories?from=', 'trajectories?to=', 'runs?to=', 'tasks/pass-rates?from='])
      expect((await door.ask('vera', 'GET', `/api/v1/${path}${late}`)).status, path).toBe(200);
    for (const time of [late, '0000-01-01T00:00:00Z'])
      expectProblem(await door.ask('vera', 'GET', `/api/v1/errors?to=${time}`), 'invalid_request');
  });

  const withFiles = JSON.stringify({
    task: { ...aTask(), solution: { script: 'true', files: { name: 'x' } } },
    agent: 'echo',
  });
  test.each([
    ['runs/run_x/reward', '{"reward":1,"signals":{"__proto__":0.5,"tests":1}}', '/signals/__proto__'],
    ['tasks', withFiles.replace('"name":"x"', '"__proto__":"x"'), '/task/solution/files/__proto__'],
  ])('%s takes no name that would be lost', async (path, body, pointer) => {
    const answer = await door.ask('otto', 'POST', `/api/v1/${path}`, body);
    expect(expectProblem(answer, 'invalid_request').errors.map((one) => one.pointer)).toEqual([pointer]);
  });

  test('a session is read, refused to a second run, and removed by an admin', async () => {
    const begin = (sessionId: string, agent: string) =>
      door.ask('otto', 'POST', '/api/v1/runs', { agent, input: 'go', sessionId });
    const first = runView.parse((await begin('talk', 'echo')).json);
    expect(await settled(first.id)).toMatchObject({ status: 'completed', sessionId: 'talk' });
    const items = await door.ask('vera', 'GET', '/api/v1/sessions/talk/items?limit=1&cursor=1');
    expect(items.json).toMatchObject({ items: [{ seq: 2, runId: first.id }], nextCursor: null });
    expect((await door.ask('vera', 'GET', '/api/v1/sessions/talk/items?cursor=999999999999999')).json).toEqual({
      ...{ items: [], nextCursor: null },
    });
    const second = runView.parse((await begin('talk', 'payer')).json);
    expect(await settled(second.id)).toMatchObject({ status: 'paused' });
    const busy = await begin('talk', 'echo');
    expectProblem(busy, 'session_busy');
    expect(busy.json).toMatchObject({ detail: expect.stringContaining(second.id) });
    expect((await door.ask('vera', 'GET', '/api/v1/sessions/talk')).json).toMatchObject({ runId: second.id, items: 2 });
    expectProblem(await door.ask('adam', 'DELETE', '/api/v1/sessions/talk'), 'session_busy');
    await door.ask('otto', 'POST', `/api/v1/runs/${second.id}/cancel`, {});
    expectProblem(await door.ask('anna', 'DELETE', '/api/v1/sessions/talk'), 'forbidden');
    expect((await door.ask('adam', 'DELETE', '/api/v1/sessions/talk')).json).toMatchObject({ id: 'talk', items: 2 });
    expectProblem(await door.ask('vera', 'GET', '/api/v1/sessions/talk'), 'session_unknown');
    expect((await door.ask('zoe', 'GET', '/api/v1/sessions')).json).toEqual({ items: [], nextCursor: null });
    expectProblem(await begin('two words', 'echo'), 'invalid_request');
  });

  describe('a paused run', () => {
    test('goes on when it is approved', async () => {
      const { run, interruption } = await paused();
      const inbox = await door.ask('vera', 'GET', `/api/v1/interruptions?status=pending&run=${run.id}`);
      expect(inbox.json).toMatchObject({
        items: [{ id: interruption, tool: 'pay', arguments: { amount: 5 } }],
        nextCursor: null,
      });
      const read = await door.ask('vera', 'GET', `/api/v1/interruptions/${interruption}`);
      const { digest } = interruptionView.parse(read.json);
      const decided = await door.ask('anna', 'POST', `/api/v1/interruptions/${interruption}/approve`, { digest });
      expect(decided.json).toMatchObject({ status: 'approved', decisions: [{ verdict: 'approve', actor: 'anna' }] });
      expect(await settled(run.id)).toMatchObject({ status: 'completed', output: 'done', interruptions: [] });
    });

    test('goes on when it is rejected, with the message', async () => {
      const { run, interruption } = await paused();
      const decided = await door.ask('anna', 'POST', `/api/v1/interruptions/${interruption}/reject`, {
        message: 'No.',
      });
      expect(decided.json).toMatchObject({ status: 'rejected', decisions: [{ message: 'No.' }] });
      expect(await settled(run.id)).toMatchObject({ status: 'completed' });
    });

    test('is approved without a body', async () => {
      const { interruption } = await paused();
      expect((await door.ask('anna', 'POST', `/api/v1/interruptions/${interruption}/approve`)).status).toBe(200);
    });

    test('takes the same decision again and refuses another', async () => {
      const { interruption } = await paused();
      const path = `/api/v1/interruptions/${interruption}`;
      const first = await door.ask('anna', 'POST', `${path}/approve`, {});
      expect((await door.ask('anna', 'POST', `${path}/approve`, {})).json).toEqual(first.json);
      expectProblem(await door.ask('anna', 'POST', `${path}/reject`, {}), 'decision_conflict');
      expectProblem(await door.ask('adam', 'POST', `${path}/approve`, {}), 'decision_conflict');
    });

    test('refuses a decision about something else', async () => {
      const { interruption } = await paused();
      const path = `/api/v1/interruptions/${interruption}`;
      expectProblem(await door.ask('anna', 'POST', `${path}/approve`, { digest: 'sha256:0' }), 'digest_mismatch');
      expectProblem(await door.ask('anna', 'POST', `${path}/answer`, { value: { paid: 5 } }), 'verdict_not_allowed');
      expect((await door.ask('vera', 'GET', path)).json).toMatchObject({ status: 'pending', decisions: [] });
    });

    test('that is cancelled takes no decision any more', async () => {
      const { run, interruption } = await paused();
      const cancelled = await door.ask('otto', 'POST', `/api/v1/runs/${run.id}/cancel`, { reason: 'changed my mind' });
      expect(cancelled.json).toMatchObject({ status: 'cancelled' });
      const late = await door.ask('anna', 'POST', `/api/v1/interruptions/${interruption}/approve`);
      expectProblem(late, 'interruption_cancelled');
    });
  });

  test('a run that works is cancelled, once and again', async () => {
    const { id } = await start('slow');
    expect((await door.ask('otto', 'POST', `/api/v1/runs/${id}/cancel`)).status).toBe(200);
    expect(await settled(id)).toMatchObject({ status: 'cancelled' });
    expect((await door.ask('otto', 'POST', `/api/v1/runs/${id}/cancel`)).status).toBe(200);
  });

  test('a run that is over cannot be cancelled', async () => {
    const { id } = await settled((await start('echo')).id);
    expectProblem(await door.ask('otto', 'POST', `/api/v1/runs/${id}/cancel`), 'run_over');
  });

  test('a run is deleted while it waits for its turn, and kept once it has begun', async () => {
    const begun = await settled((await start('rare')).id);
    expectProblem(await door.ask('otto', 'DELETE', `/api/v1/runs/${begun.id}`), 'run_begun');
    const { id } = await start('rare');
    expectProblem(await door.ask('vera', 'DELETE', `/api/v1/runs/${id}`), 'forbidden');
    expect(await door.ask('otto', 'DELETE', `/api/v1/runs/${id}`)).toMatchObject({ status: 200, json: { id } });
    expectProblem(await door.ask('vera', 'GET', `/api/v1/runs/${id}`), 'run_unknown');
  });

  describe('an Idempotency-Key', () => {
    test('gives one run however often and however it is sent', async () => {
      const keys = ['k-1', '"k-1"', 'k-1', '"k-1"'];
      const runs = await Promise.all(keys.map((key) => start('echo', { 'Idempotency-Key': key })));
      expect(new Set(runs.map(({ id }) => id)).size).toBe(1);
    });

    test('is not for another body', async () => {
      await start('echo', { 'Idempotency-Key': 'k-2' });
      const body = { agent: 'echo', input: 'something else' };
      expectProblem(
        await door.ask('otto', 'POST', '/api/v1/runs', body, { 'Idempotency-Key': 'k-2' }),
        'idempotency_key_reused',
      );
    });

    test('is of the tenant', async () => {
      const { id } = await start('echo', { 'Idempotency-Key': 'k-3' });
      const other = await door.ask(
        'zoe',
        'POST',
        '/api/v1/runs',
        { agent: 'echo', input: 'go' },
        { 'Idempotency-Key': 'k-3' },
      );
      expect(runView.parse(other.json).id).not.toBe(id);
    });

    test.each(['""', 'a b', '"a, b"', 'x'.repeat(256)])('number %# that is none is refused', async (key) => {
      const answer = await door.ask(
        'otto',
        'POST',
        '/api/v1/runs',
        { agent: 'echo', input: 'go' },
        { 'Idempotency-Key': key },
      );
      expect(expectProblem(answer, 'invalid_request').errors[0]?.pointer).toBe('/header/idempotency-key');
    });
  });

  test('a wait ends after its time with the run as it is', async () => {
    const { id } = await start('slow');
    const from = performance.now();
    const answer = await door.ask('vera', 'GET', `/api/v1/runs/${id}?wait=0.3`);
    expect(answer.json).toMatchObject({ id, completedAt: null });
    expect(performance.now() - from).toBeGreaterThan(290);
    await door.ask('otto', 'POST', `/api/v1/runs/${id}/cancel`);
  });

  describe('what is of another tenant', () => {
    test('is as if it were not there', async () => {
      const { run, interruption } = await paused();
      for (const path of ['', '/events', '/trajectory']) {
        expectProblem(await door.ask('zoe', 'GET', `/api/v1/runs/${run.id}${path}`), 'run_unknown');
      }
      for (const verb of ['cancel', 'verify', 'replay']) {
        expectProblem(await door.ask('zoe', 'POST', `/api/v1/runs/${run.id}/${verb}`), 'run_unknown');
      }
      const stream = await door.ask('zoe', 'GET', `/api/v1/runs/${run.id}/events`, undefined, {
        Accept: 'text/event-stream',
      });
      expectProblem(stream, 'run_unknown');
      expectProblem(await door.ask('zoe', 'GET', `/api/v1/interruptions/${interruption}`), 'interruption_unknown');
      expectProblem(
        await door.ask('zoe', 'POST', `/api/v1/interruptions/${interruption}/approve`),
        'interruption_unknown',
      );
      const { json } = await door.ask('zoe', 'GET', `/api/v1/interruptions?run=${run.id}`);
      expect(json).toEqual({ items: [], nextCursor: null });
    });
  });

  test('an event is kept once, the one that sends it again', async () => {
    const emit = (body: object, key = '"invoice-1"', path = 'invoice.paid') =>
      door.ask('otto', 'POST', `/api/v1/events/${path}`, body, { 'Idempotency-Key': key });
    const kept = await emit({ payload: 1 });
    expect(kept.status).toBe(200);
    expect(kept.json).toMatchObject({ id: 'invoice-1', name: 'invoice.paid', status: 'kept', delivered: 0 });
    expect((await emit({ payload: 1, eventId: 'invoice-1' })).json).toEqual(kept.json);
    expectProblem(await emit({ payload: 2 }), 'idempotency_key_reused');
    expectProblem(await emit({ payload: 1, eventId: 'invoice-2' }), 'invalid_request');
    expectProblem(await emit({ payload: 1, runId: 'run_none' }, '"invoice-3"'), 'run_unknown');
    expectProblem(await emit({}, '"invoice-4"', 'a%20b'), 'invalid_request');
  });

  test('agents, health and stats are told', async () => {
    const agents = await door.ask('vera', 'GET', '/api/v1/agents');
    expect(agents.json).toMatchObject({
      items: [{ name: 'echo' }, { name: 'slow' }, { name: 'payer', tools: ['pay'], marks: [] }, { name: 'rare' }],
    });
    await expect
      .poll(async () => (await door.ask('vera', 'GET', '/api/v1/health')).json, { timeout: 30_000 })
      .toMatchObject({ status: 'pass', database: kind });
    expect((await door.ask('vera', 'GET', '/api/v1/stats')).json).toMatchObject({
      runs: { completed: expect.any(Number) },
      tasks: { total: 0, byCategory: {}, passRate: null },
      throughput: { runs: { lastDay: expect.any(Number) } },
    });
  });

  test.each<[Actor, string, string]>([
    ['vera', '/api/v1/runs', 'forbidden'],
    ['vera', '/api/v1/runs/x/cancel', 'forbidden'],
    ['vera', '/api/v1/runs/x/replay', 'forbidden'],
    ['vera', '/api/v1/events/paid', 'forbidden'],
    ['vera', '/api/v1/interruptions/x/approve', 'forbidden'],
    ['otto', '/api/v1/interruptions/x/approve', 'forbidden'],
    ['otto', '/api/v1/interruptions/x/reject', 'forbidden'],
    ['otto', '/api/v1/interruptions/x/answer', 'forbidden'],
    ['vera', '/api/v1/runs/x/verify', 'run_unknown'],
    ['anna', '/api/v1/runs/x/cancel', 'run_unknown'],
    ['adam', '/api/v1/interruptions/x/approve', 'interruption_unknown'],
  ])('%s at POST %s: %s', async (actor, path, code) => {
    expectProblem(await door.ask(actor, 'POST', path, {}), path === '/api/v1/runs' ? 'forbidden' : code);
  });
});
