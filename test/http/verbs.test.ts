import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { emittedEvent } from '../../src/core/interruptions/emitted-event.js';
import { interruptionView } from '../../src/core/interruptions/interruption.js';
import { standingDecisionView } from '../../src/core/interruptions/standing.js';
import { runEvent } from '../../src/core/log/event.js';
import { pageOf } from '../../src/core/operations/fields.js';
import { type RunView, runView } from '../../src/core/runs/run.js';
import { describeEachDatabase } from '../harness/database.js';
import { expectProblem, isActor, statsOf } from './door.js';
import { openStream } from './event-stream.js';
import { REFUSED } from './refused-requests.js';
import { castOf, type Names, openStage, type Stage } from './stage.js';

describeEachDatabase('waiting, deciding, forking, conversing and telling over HTTP', (kind) => {
  let stage: Stage;
  let names: Names;
  beforeAll(async () => {
    stage = await openStage(kind);
    names = await castOf(stage);
  });
  afterAll(() => stage.door.close());
  const ask: Stage['door']['ask'] = (...request) => stage.door.ask(...request);

  describe('asked badly, is refused by name and changes nothing:', () => {
    const stats = (): Promise<unknown> => statsOf(stage.door);
    describe.each(REFUSED)('%s', (_about, requests) => {
      let before: unknown;
      beforeAll(async () => {
        before = await stats();
      });
      afterAll(async () => {
        expect(await stats(), 'a refused request changed something').toEqual(before);
      });

      for (const [what, request, body, refusal, headers] of requests) {
        test(what, async () => {
          const logged = stage.door.logged.length;
          const [actor = '', method = '', path = ''] = names.in(request).split(' ');
          const [code = '', ...pointers] = refusal.split(' ');
          const given: unknown = body === undefined ? undefined : JSON.parse(names.in(JSON.stringify(body)));
          const asked = isActor(actor) ? actor : null;
          const { errors } = expectProblem(await ask(asked, method, `/api/v1/${path}`, given, headers), code);
          expect(errors.map(({ pointer }) => pointer)).toEqual(pointers.map((one) => (one === '""' ? '' : one)));
          expect(stage.door.logged.slice(logged).filter(({ level }) => level === 'error')).toEqual([]);
        });
      }
    });
  });

  const post = async (path: string, body: unknown, key?: string) => {
    const answer = await ask(
      'otto',
      'POST',
      `/api/v1/${path}`,
      body,
      key === undefined ? {} : { 'Idempotency-Key': key },
    );
    expect(answer.status, answer.text).toBeLessThan(300);
    return answer.json;
  };
  const decide = async ({ interruptions: [id] }: RunView, verb: string, body: object) => {
    const { json } = await ask('anna', 'POST', `/api/v1/interruptions/${id}/${verb}`, body);
    return interruptionView.parse(json);
  };

  test('an approval is edited and holds for later calls until it is revoked', async () => {
    const run = await stage.rest('twice');
    const edited = { to: 'alice', amount: 2 };
    const [decision] = (await decide(run, 'approve', { arguments: edited, always: { scope: ['bank:pay:*'] } }))
      .decisions;
    expect(decision).toMatchObject({
      edit: { arguments: edited, difference: [{ op: 'replace', path: '/amount', value: 2 }] },
      always: { scope: ['bank:pay:*'] },
    });
    expect(await stage.again(run.id)).toMatchObject({ status: 'paused' });
    const path = `/api/v1/runs/${run.id}/standing-decisions`;
    const listed = z.object({ items: z.array(standingDecisionView) }).parse((await ask('vera', 'GET', path)).json);
    expect(listed.items).toMatchObject([{ tool: 'pay', scope: ['bank:pay:*'], exact: false, revokedAt: null }]);
    const revoke = async () => (await ask('anna', 'DELETE', `${path}/${listed.items[0]?.id}`)).json;
    const revoked = await revoke();
    expect(revoked).toMatchObject({ revokedBy: 'anna' });
    expect(await revoke()).toEqual(revoked);
    expect((await ask('vera', 'GET', path)).json).toEqual({ items: [revoked], nextCursor: null });
  });

  test.each([
    ['a number', { cents: 12 }],
    ['odd texts', { cents: 1, note: 'a\u0000b\ud800c' }],
  ])('a question is answered with %s', async (_what, value) => {
    const run = await stage.rest('asker');
    expect((await decide(run, 'answer', { value })).decisions).toMatchObject([{ value: { cents: value.cents } }]);
    expect((await stage.again(run.id)).output).toContain(`"cents":${value.cents}`);
  });

  test('an event goes to the run that waits for it, and is kept for no one else', async () => {
    const run = await stage.rest('waiter');
    const elsewhere = await ask('zoe', 'POST', '/api/v1/events/paid', { key: '7', payload: 'elsewhere' });
    expect(emittedEvent.parse(elsewhere.json)).toMatchObject({ status: 'kept', delivered: 0 });
    const told = emittedEvent.parse(await post('events/paid', { key: '7', runId: run.id, payload: { cents: 5 } }));
    expect(told).toMatchObject({ status: 'delivered', delivered: 1, runId: run.id });
    expect(await stage.again(run.id)).toMatchObject({ status: 'completed', output: 'w1={"cents":5}' });
  });

  test('the runs that calls of a run started are listed, to their own tenant', async () => {
    const parent = names.in('{parent}');
    const children = async (actor: 'vera' | 'zoe') =>
      pageOf(runView).parse((await ask(actor, 'GET', `/api/v1/runs?parent=${parent}`)).json).items;
    expect(await children('vera')).toMatchObject([{ parentRunId: parent, agent: 'payer', status: 'paused' }]);
    expect(await children('zoe')).toEqual([]);
  });

  test('a fork and a retry are made once under a key, and go on by themselves', async () => {
    const completed = names.in('{completed}');
    const { json } = await ask('vera', 'GET', `/api/v1/runs/${completed}/events?limit=200`);
    const at = pageOf(runEvent)
      .parse(json)
      .items.find(({ kind }) => kind === 'call.finished');
    const edits = [{ callId: 'p1', outcome: { type: 'output', output: { paid: 77 } } }];
    const fork = () => post(`runs/${completed}/fork`, { at: at?.id, edits, metadata: { why: 'what if' } }, 'fork-1');
    const forked = runView.parse(await fork());
    expect(forked).toMatchObject({ forkedFrom: { runId: completed, seq: at?.seq }, metadata: { why: 'what if' } });
    expect(runView.parse(await fork()).id).toBe(forked.id);
    expect(await stage.again(forked.id)).toMatchObject({ status: 'completed', output: 'done' });
    const failed = names.in('{failed}');
    const retry = () => post(`runs/${failed}/retry`, { maxTurns: 5 }, 'retry-1');
    const retried = runView.parse(await retry());
    expect(runView.parse(await retry()).id).toBe(retried.id);
    expect(await stage.again(retried.id)).toMatchObject({ status: 'paused', forkedFrom: { runId: failed } });
  });

  test('what a model says is seen while it says it, by those who ask for it', async () => {
    const run = await stage.rest('talker');
    const open = async (query: string) => {
      const stream = await openStream(stage.door, 'vera', `/api/v1/runs/${run.id}/events${query}`);
      await expect.poll(() => stream.messages.map(({ event }) => event)).toContain('run.paused');
      return stream;
    };
    const [whole, events] = [await open(''), await open('?deltas=false')];
    await decide(run, 'approve', {});
    await Promise.all([whole.ended, events.ended]);
    const said = whole.messages.filter(({ event }) => event === 'delta');
    expect(said.map(({ data }) => JSON.parse(data).delta).join('')).toBe('It was paid, and here is the receipt.');
    expect(said.every(({ id }) => id === undefined)).toBe(true);
    expect(whole.messages.filter((message) => !said.includes(message))).toEqual(events.messages);
    expect(events.messages.map(({ event }) => event)).toContain('model.responded');
  });
});
