import { Agent } from '@openai/agents';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { z } from 'zod';
import { decisionCheck, interruptionContext, interruptionCounts } from '../../src/core/interruptions/context.js';
import { decidedMany, listedInterruption } from '../../src/core/interruptions/interruption.js';
import { pageOf } from '../../src/core/operations/fields.js';
import { type RunView, runView } from '../../src/core/runs/run.js';
import { askHumanTool, defineAgent, defineTool } from '../../src/index.js';
import { describeEachDatabase } from '../harness/database.js';
import { call, say, scripted } from '../harness/script.js';
import { type Actor, type Answer, type Door, openDoor } from './door.js';

const lookUp = defineTool({
  name: 'look_up',
  description: 'Looks up an order.',
  input: z.object({ order: z.string() }),
  output: z.object({ state: z.string() }),
  effect: 'pure',
  execute: ({ order }) => ({ state: `${order} broke` }),
});
const refund = defineTool({
  name: 'refund',
  version: '7',
  description: 'Refunds an order.',
  input: z.object({ cents: z.int().positive(), to: z.string() }),
  output: z.object({ refunded: z.int() }),
  capabilities: ({ to }) => [`payments:refund:${to}`],
  approval: 'It costs money.',
  approvals: 2,
  execute: ({ cents }) => ({ refunded: cents }),
});

const AGENTS = [
  defineAgent({
    agent: new Agent({
      name: 'cashier',
      model: scripted([
        [say('I look first.'), call('look_up', { order: 'o-1' }, 'l1')],
        [say('I refund it.'), call('refund', { cents: 800, to: 'alice' }, 'r1')],
        [say('done')],
      ]),
      tools: [lookUp, refund],
    }),
    grants: ['tool:call:look_up', 'payments:refund:alice'],
    onDenied: 'tell',
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

describeEachDatabase('what a person needs to decide, over HTTP', (kind) => {
  let door: Door;
  beforeAll(async () => {
    door = await openDoor(kind, AGENTS);
  });
  afterAll(() => door.close());

  async function paused(agent: string, actor: Actor = 'otto'): Promise<{ run: RunView; wait: string }> {
    const { json } = await door.ask(actor, 'POST', '/api/v1/runs', { agent, input: 'The parcel broke.' });
    const run = await read(runView.parse(json).id);
    expect(run.status).toBe('paused');
    return { run, wait: run.interruptions[0] ?? '' };
  }
  const read = async (id: string): Promise<RunView> =>
    runView.parse((await door.ask('vera', 'GET', `/api/v1/runs/${id}?wait=20`)).json);
  const contextOf = async (id: string) =>
    interruptionContext.parse((await door.ask('vera', 'GET', `/api/v1/interruptions/${id}/context`)).json);
  const check = async (id: string, body: object, actor: Actor = 'anna') => {
    const answer = await door.ask(actor, 'POST', `/api/v1/interruptions/${id}/check`, body);
    expect(answer.status, answer.text).toBe(200);
    return decisionCheck.parse(answer.json);
  };
  const counts = async (actor: Actor) =>
    interruptionCounts.parse((await door.ask(actor, 'GET', '/api/v1/interruptions/counts')).json);
  const decide = (actor: Actor, id: string, verb: string, body: object) =>
    door.ask(actor, 'POST', `/api/v1/interruptions/${id}/${verb}`, body);

  test('is the tool, what it needs, the turns before and who asked', async () => {
    const { wait, run } = await paused('cashier');
    const context = await contextOf(wait);
    expect(context).toMatchObject({
      tool: { name: 'refund', version: '7', description: 'Refunds an order.', effect: 'unsafe' },
      checks: [{ capability: 'payments:refund:alice', effect: 'allow', rule: 'payments:refund:alice' }],
      run: {
        id: run.id,
        agent: 'cashier',
        status: 'paused',
        input: 'The parcel broke.',
        startedBy: ['otto'],
        turns: 2,
      },
      story: [
        {
          text: 'I look first.',
          calls: [{ callId: 'l1', tool: 'look_up', arguments: '{"order":"o-1"}', outcome: '{"state":"o-1 broke"}' }],
        },
        { text: 'I refund it.', calls: [{ tool: 'refund', outcome: null }] },
      ],
      before: [],
      notes: [{ kind: 'first_time' }],
    });
    expect(context.tool?.input).toMatchObject({ properties: { cents: { type: 'integer' } } });
    await decide('anna', wait, 'reject', { message: 'Not this one.' });
    // What was decided since is no part of what was known when it was asked.
    expect((await contextOf(wait)).story.at(-1)?.calls).toMatchObject([{ outcome: null }]);
    const next = await contextOf((await paused('cashier')).wait);
    expect(next).toMatchObject({
      before: [
        { id: wait, runId: run.id, status: 'rejected', actor: 'anna', message: 'Not this one.', difference: null },
      ],
      notes: [],
    });
  });

  test('of a question there is no tool to check', async () => {
    const { wait } = await paused('asker');
    expect(await contextOf(wait)).toMatchObject({ tool: null, checks: [], before: [], notes: [] });
  });

  test('an approval is checked as it would be judged, and decides nothing', async () => {
    const { wait } = await paused('cashier');
    const edited = { arguments: { cents: 500, to: 'alice' } };
    expect(await check(wait, {})).toEqual({
      ok: true,
      errors: [],
      difference: [],
      capabilities: ['payments:refund:alice'],
      settles: false,
    });
    expect(await check(wait, edited)).toMatchObject({
      ok: true,
      difference: [{ op: 'replace', path: '/cents', value: 500 }],
    });
    expect(await check(wait, { arguments: { cents: -1, to: 'alice' } })).toMatchObject({
      ok: false,
      errors: [{ code: 'invalid_request', pointer: '/arguments' }],
    });
    expect(await check(wait, { arguments: { cents: 1, to: 'mallory' } })).toMatchObject({
      ok: false,
      errors: [{ code: 'capability_denied', pointer: '/arguments' }],
      capabilities: ['payments:refund:mallory'],
    });
    expect(await check(wait, { digest: 'sha256:other' })).toMatchObject({
      ok: false,
      errors: [{ code: 'digest_mismatch', pointer: '/digest' }],
    });
    const { json } = await door.ask('vera', 'GET', `/api/v1/interruptions/${wait}`);
    expect(json).toMatchObject({ status: 'pending', decisions: [] });
    await decide('anna', wait, 'approve', edited);
    expect(await check(wait, edited, 'adam')).toMatchObject({ ok: true, settles: true });
    expect(await check(wait, {}, 'adam')).toMatchObject({ ok: false, errors: [{ code: 'decision_conflict' }] });
  });

  test('who may not approve may not check', async () => {
    const { wait } = await paused('cashier');
    expect((await door.ask('otto', 'POST', `/api/v1/interruptions/${wait}/check`, {})).status).toBe(403);
    expect((await door.ask('anna', 'POST', '/api/v1/interruptions/int_x/check', {})).status).toBe(404);
  });

  test('is listed by deadline, by several kinds, and by what the caller has said', async () => {
    const list = async (query: string, actor: Actor = 'anna') => {
      const answer = await door.ask(actor, 'GET', `/api/v1/interruptions?${query}`);
      expect(answer.status, answer.text).toBe(200);
      return pageOf(listedInterruption).parse(answer.json);
    };
    const { wait } = await paused('cashier');
    await paused('asker');
    await decide('anna', wait, 'approve', {});
    const all = (await list('status=pending&order=deadline&limit=200')).items;
    const due = all.map(({ expiresAt }) => expiresAt ?? '9');
    expect(due).toEqual(due.toSorted());
    expect(new Set(all.map(({ kind: one }) => one))).toEqual(new Set(['approval', 'question']));
    const paged: string[] = [];
    for (let cursor = ''; ; ) {
      const { items, nextCursor } = await list(`status=pending&order=deadline&limit=2${cursor}`);
      paged.push(...items.map(({ id }) => id));
      if (nextCursor === null) break;
      cursor = `&cursor=${nextCursor}`;
    }
    expect(paged).toEqual(all.map(({ id }) => id));
    const [newest, second] = (await list('status=pending&order=newest&limit=2')).items;
    expect([newest?.requestedAt, second?.requestedAt]).toEqual(
      [newest?.requestedAt, second?.requestedAt].toSorted().toReversed(),
    );
    const after = await list(
      `status=pending&order=newest&limit=1&cursor=${(await list('status=pending&order=newest&limit=1')).nextCursor}`,
    );
    expect(after.items.map(({ id }) => id)).toEqual([second?.id]);
    expect((await list('status=pending&kind=approval,question&limit=200')).items).toHaveLength(all.length);
    expect((await list('status=pending&kind=question')).items.every((one) => one.kind === 'question')).toBe(true);
    const mine = (await list('status=pending&voted=me')).items.map(({ id }) => id);
    expect(mine).toContain(wait);
    expect(mine.length).toBeLessThan(all.length);
    expect((await list('status=pending&voted=me', 'adam')).items).toEqual([]);
    const refused = await door.ask('anna', 'GET', '/api/v1/interruptions?kind=approval,other');
    expect(refused.json).toMatchObject({ code: 'invalid_request', errors: [{ pointer: '/query/kind/1' }] });
  });

  test('several are decided at once, each for itself and bound to what was read', async () => {
    const many = async (actor: Actor, verdict: string, ids: readonly string[], digest?: string) => {
      const items = await Promise.all(
        ids.map(async (id) => {
          const read = await door.ask('vera', 'GET', `/api/v1/interruptions/${id}`);
          return { id, digest: digest ?? String(Object(read.json).digest) };
        }),
      );
      return door.ask(actor, 'POST', '/api/v1/interruptions/decide', { verdict, items, message: 'Together.' });
    };
    const decided = (answer: Answer) =>
      decidedMany.parse(answer.json).items.map((one) => one.error?.code ?? one.status);
    const [first, second, third] = [await paused('cashier'), await paused('cashier'), await paused('cashier')];
    const question = await paused('asker');
    const ids = [first.wait, second.wait];
    expect((await many('vera', 'approve', ids)).status).toBe(403);
    expect(decided(await many('anna', 'approve', ids, 'sha256:other'))).toEqual(['digest_mismatch', 'digest_mismatch']);
    expect(decided(await many('zoe', 'approve', ids))).toEqual(['interruption_unknown', 'interruption_unknown']);
    expect(decided(await many('anna', 'approve', [...ids, question.wait, 'int_x', first.wait], undefined))).toEqual([
      ...['pending', 'pending', 'verdict_not_allowed', 'interruption_unknown'],
    ]);
    expect(decided(await many('adam', 'approve', ids))).toEqual(['approved', 'approved']);
    for (const { run } of [first, second]) expect(await read(run.id)).toMatchObject({ status: 'completed' });
    expect(decided(await many('adam', 'reject', [...ids, third.wait]))).toEqual([
      ...['decision_conflict', 'decision_conflict', 'rejected'],
    ]);
    const said = await door.ask('vera', 'GET', `/api/v1/interruptions/${third.wait}`);
    expect(said.json).toMatchObject({ decisions: [{ actor: 'adam', message: 'Together.' }] });
    for (const body of [
      { verdict: 'answer', items: [] },
      { verdict: 'approve', items: [{ id: first.wait }] },
    ])
      expect((await door.ask('anna', 'POST', '/api/v1/interruptions/decide', body)).status).toBe(400);
  });

  test('what waits is counted, and what the caller has approved already', async () => {
    const before = await counts('anna');
    const { wait } = await paused('cashier');
    await paused('asker');
    await decide('anna', wait, 'approve', {});
    const now = await counts('anna');
    expect(now).toMatchObject({ pending: before.pending + 2, mine: before.mine + 1, atLeast: false });
    const named = (list: typeof now.byKind, name: string) => list.find((one) => one.name === name)?.count ?? 0;
    for (const [list, name] of [
      ['byKind', 'question'],
      ['byAgent', 'asker'],
      ['byTool', 'refund'],
    ] as const)
      expect(named(now[list], name)).toBe(named(before[list], name) + 1);
    expect(now.oldestRequestedAt).toBe(before.oldestRequestedAt);
    expect(await counts('zoe')).toMatchObject({ pending: 0, mine: 0, byKind: [], oldestRequestedAt: null });
  });
});
