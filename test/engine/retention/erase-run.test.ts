import { Agent } from '@openai/agents';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { askHumanTool, defineAgent, defineTool, subAgent, waitForEventTool } from '../../../src/index.js';
import type { Database } from '../../../src/storage/database/database.js';
import { endExportRow } from '../../../src/storage/exports/exports.js';
import { describeEachDatabaseSlowly } from '../../harness/database.js';
import {
  ADMIN,
  BOB,
  eventsOf,
  openTestEngine,
  pendingOf,
  restOf,
  runToRest,
  type TestEngine,
} from '../../harness/engine.js';
import { call, say, scripted } from '../../harness/script.js';

/** Begins every text that is planted in a run which is erased. */
const CANARY = 'c4n4ry-of-';
const of = (place: string): string => `${CANARY}${place}`;
/** The same in a run that is kept: what is searched does hold what runs say. */
const MARKER = 'm4rker-of-a-kept-run';

const pay = defineTool({
  name: 'pay',
  description: 'Pays.',
  input: z.object({ to: z.string() }),
  output: z.object({ text: z.string() }),
  effect: 'unsafe',
  approval: () => of('approval-reason'),
  execute: ({ to }) => ({ text: `${to} ${of('tool-output')}` }),
});
const look = defineTool({
  name: 'look',
  description: 'Looks.',
  input: z.object({ at: z.string() }),
  output: z.string(),
  effect: 'pure',
  execute: ({ at }) => {
    if (at.includes('bad')) throw new Error(of('tool-error'));
    return of('tool-result');
  },
});

const busy = scripted([
  [call('look', { at: of('argument') }, of('call-id')), call('look', { at: 'bad' }, 'l2')],
  [call('pay', { to: of('argument') }, 'p1')],
  [call('ask_human', { question: of('question') }, 'q1')],
  [call('wait_for_event', { name: of('event-name'), key: of('event-key') }, 'e1')],
  [call('helper', { input: of('child-input') }, 'h1')],
]);
const agents = [
  defineAgent({
    agent: new Agent({
      name: 'busy',
      model: busy,
      tools: [pay, look, askHumanTool(), waitForEventTool(), subAgent({ agent: 'helper' })],
    }),
    grants: ['tool:call:*', 'human:ask:*', 'event:wait:*'],
  }),
  defineAgent({ agent: new Agent({ name: 'helper', model: scripted([[say(of('child-output'))]]) }) }),
  defineAgent({ agent: new Agent({ name: 'plain', model: scripted([[say(of('model-output'))]]) }) }),
  defineAgent({ agent: new Agent({ name: 'kept', model: scripted([[say(MARKER)]]) }) }),
  defineAgent({
    agent: new Agent({ name: 'fails', model: scripted([[call('pay', { to: of('denied') }, 'p1')]]), tools: [pay] }),
  }),
];

/** Every row of every table of both schemas, as text. */
async function everyRow(knex: Database['knex']): Promise<string[]> {
  const { rows } = await knex.raw(
    "select table_schema as s, table_name as t from information_schema.tables where table_schema in ('dbos', 'holdfast')",
  );
  expect(rows.length).toBeGreaterThan(30);
  const texts: string[] = [];
  for (const { s, t } of rows) {
    const found = await knex.raw('select row_to_json(x)::text as row from ??.?? as x', [s, t]);
    texts.push(...found.rows.map(({ row }: { row: string }) => `${s}.${t}: ${row}`));
  }
  return texts;
}

/** An export that is at work, and has a run in its list. */
async function listedBy(knex: Database['knex'], exportId: string, runId: string): Promise<void> {
  const request = JSON.stringify({ format: 'messages', to: { folder: exportId }, filters: { tag: of('tag') } });
  const row = { id: exportId, status: 'running', request, actor: 'ada', folder: '', runs: 1 };
  await knex('holdfast.exports').insert(row);
  await knex('holdfast.exports').insert({
    ...row,
    id: `${exportId}_over`,
    status: 'completed',
    completed_at: new Date(),
  });
  await knex('holdfast.export_runs').insert({ export_id: exportId, position: 1, run_id: runId, task: of('task') });
}

const tablesWith = (rows: readonly string[], text: string): string[] =>
  [...new Set(rows.filter((row) => row.includes(text)).map((row) => row.slice(0, row.indexOf(':'))))].sort();

describeEachDatabaseSlowly('a run that is erased', (kind) => {
  let t: TestEngine;
  const reason = 'asked for';
  const erase = (id: string, family = false) => t.engine.eraseRun(id, { reason, family }, ADMIN);

  beforeAll(async () => {
    t = await openTestEngine(kind, { agents, turnsPerSegment: 2 });
  });
  afterAll(() => t.close());

  /** A run in which everything that a run can hold says who it is about. */
  async function wholeRun(): Promise<string> {
    const { engine } = t;
    const request = {
      agent: 'busy',
      input: of('input'),
      sessionId: of('session'),
      metadata: { who: of('metadata'), tags: [of('tag')] },
    };
    const { id } = await engine.startRun(request, ADMIN, 'the-key');
    const decide = async (tool: string, decision: Parameters<typeof engine.decide>[1]) => {
      await expect.poll(async () => (await pendingOf(engine, id, tool))?.id).toBeDefined();
      await engine.decide((await pendingOf(engine, id, tool))?.id ?? '', decision, BOB);
    };
    const edited = { to: of('edit') };
    await decide('pay', { verdict: 'approve', arguments: edited, always: true, message: of('vote-message') });
    await decide('ask_human', { verdict: 'answer', value: of('answer'), message: of('answer-message') });
    await expect.poll(async () => (await pendingOf(engine, id, 'wait_for_event'))?.id).toBeDefined();
    await engine.emitEvent(
      of('event-name'),
      { key: of('event-key'), payload: { who: of('payload') }, eventId: 'evt-1' },
      ADMIN,
    );
    await expect.poll(async () => (await engine.getRun(id, ADMIN)).status).toBe('completed');
    return id;
  }

  it('is in no column of any table any more, with those below it and its forks', async () => {
    const id = await wholeRun();
    await runToRest(t.engine, 'kept', MARKER);
    const failed = await t.engine.startRun({ agent: 'fails', input: of('input') }, ADMIN);
    await restOf(t.engine, failed.id);
    const [answer] = (await eventsOf(t.engine, id, 'model.responded')).slice(1);
    const fork = await t.engine.forkRun(id, { at: answer?.seq ?? 0, input: of('fork-input') }, ADMIN);
    await restOf(t.engine, fork.id);
    await t.engine.cancelRun(fork.id, of('cancel-reason'), ADMIN);
    await t.engine.rewardRun(id, { reward: 1, reason: of('reward') }, ADMIN);
    const before = await t.between(async (knex) => {
      await listedBy(knex, 'exp_at_work', id);
      return everyRow(knex);
    });
    for (const table of [
      'events',
      'runs',
      'calls',
      'decisions',
      'interruptions',
      'session_items',
      'emitted_events',
      'exports',
      'rewards',
      'export_runs',
    ])
      expect(tablesWith(before, CANARY), table).toContain(`holdfast.${table}`);
    expect(tablesWith(before, CANARY)).toContain('dbos.operation_outputs');

    const erasure = await erase(id, true);
    expect(erasure).toMatchObject({ runId: id, actor: 'ada', reason, copies: [] });
    expect(erasure.erased).toHaveLength(3);
    expect(erasure.erased.at(-1)).toBe(id);
    await erase(failed.id);
    // The name of the session is what remains: a session is removed as such.
    await t.engine.deleteSession(of('session'), ADMIN);
    // What is at work needs its tag until it ends.
    const after = await t.between(async (knex) => {
      await knex.transaction((trx) => endExportRow(trx, 'exp_at_work', { status: 'cancelled' }));
      return everyRow(knex);
    });
    expect(after.filter((row) => row.includes(CANARY))).toEqual([]);
    expect(tablesWith(after, MARKER)).toContain('holdfast.events');
    expect(after.filter((row) => row.startsWith('dbos.') && row.includes(id))).toEqual([]);
  });

  describe('at every door', () => {
    let id: string;
    let lastHash: string | undefined;
    beforeAll(async () => {
      const { engine } = t;
      id = (await engine.startRun({ agent: 'plain', input: of('input') }, ADMIN, 'door-key')).id;
      await restOf(engine, id);
      lastHash = (await eventsOf(engine, id)).at(-1)?.hash;
      await erase(id);
    });

    it('is read as a run without content', async () => {
      const { waitsFor, ...run } = await t.engine.getRun(id, ADMIN);
      expect(waitsFor).toBeNull();
      expect(run).toMatchObject({ id, status: 'completed', input: null, output: null, metadata: {}, agent: 'plain' });
      expect(run.erasedAt).not.toBeNull();
      const { items } = await t.engine.listRuns({ limit: 50 }, ADMIN);
      expect(items.find((one) => one.id === id)).toEqual({ ...run, cut: null });
    });

    it('has its events without payloads, whole and as a stream', async () => {
      const events = await eventsOf(t.engine, id);
      expect(events.length).toBeGreaterThan(3);
      expect(events.every(({ data }) => data === null)).toBe(true);
      const streamed = [];
      const { signal } = new AbortController();
      for await (const event of t.engine.streamRun(id, { after: 0, signal }, ADMIN)) streamed.push(event);
      expect(streamed).toEqual(events);
      expect(events.at(-1)?.hash).toBe(lastHash);
    });

    it('still verifies, and says that it was erased', async () => {
      expect(await t.engine.verifyRun(id, ADMIN)).toMatchObject({
        ...{ ok: true, complete: true, payloads: 'erased', broken: null, headHash: lastHash },
      });
      expect(await t.engine.listCharges(id, { after: 0, limit: 10 }, ADMIN)).toMatchObject({ items: [{ turn: 1 }] });
    });

    it('refuses by name what needs the content', async () => {
      const { engine } = t;
      const erased = { code: 'run_erased' };
      await expect(engine.getTrajectory(id, ADMIN)).rejects.toMatchObject(erased);
      await expect(engine.forkRun(id, { at: 2 }, ADMIN)).rejects.toMatchObject(erased);
      await expect(engine.rewardRun(id, { reward: 1 }, ADMIN)).rejects.toMatchObject(erased);
      await expect(engine.retryRun(id, {}, ADMIN)).rejects.toMatchObject(erased);
      await expect(engine.replayRun(id, {}, ADMIN)).rejects.toMatchObject(erased);
      const again = { agent: 'plain', input: of('input') };
      await expect(engine.startRun(again, ADMIN, 'door-key')).rejects.toMatchObject(erased);
    });

    it('may be erased again, and says who was first', async () => {
      const again = await t.engine.eraseRun(id, { reason: 'another' }, { ...ADMIN, actor: 'eve' });
      expect(again).toMatchObject({ runId: id, actor: 'ada', reason, erased: [] });
      await expect(t.engine.eraseRun(id, { reason }, { ...ADMIN, tenant: 'other' })).rejects.toMatchObject({
        code: 'run_unknown',
      });
      await expect(t.engine.eraseRun(id, { reason: ' ' }, ADMIN)).rejects.toMatchObject({ code: 'invalid_request' });
    });
  });

  it('must be over, with those that may read its result', async () => {
    const { id } = await runToRest(t.engine, 'busy');
    await expect(erase(id)).rejects.toMatchObject({ code: 'run_not_over' });
    expect(await t.engine.getRun(id, ADMIN)).toMatchObject({ status: 'paused', erasedAt: null, input: 'go' });
    await t.engine.cancelRun(id, null, ADMIN);
    expect((await erase(id)).erased).toEqual([id]);
  });

  it('is missing from its session, whose other runs go on', async () => {
    const say = async (input: string) => {
      const { id } = await t.engine.startRun({ agent: 'plain', input, sessionId: 'talk' }, ADMIN);
      return (await restOf(t.engine, id)).id;
    };
    const [first, second, third] = [await say('one'), await say('two'), await say('three')];
    const erasure = await erase(second);
    expect(erasure.copies).toEqual([{ runId: third, why: 'session' }]);
    const { items } = await t.engine.listSessionItems('talk', { after: 0, limit: 50 }, ADMIN);
    expect(items.map(({ seq, runId }) => [seq, runId])).toEqual([
      ...[1, 2].map((seq) => [seq, first]),
      ...[3, 4].map((seq) => [seq, third]),
    ]);
    const bytes = items.reduce((sum, { item }) => sum + Buffer.byteLength(JSON.stringify(item)), 0);
    expect(await t.engine.getSession('talk', ADMIN)).toMatchObject({ items: 4, bytes });
    const fourth = await say('four');
    const all = await t.engine.listSessionItems('talk', { after: 0, limit: 50 }, ADMIN);
    expect(all.items.slice(4).map(({ seq, runId }) => [seq, runId])).toEqual([5, 6].map((seq) => [seq, fourth]));
  });

  it('of two erasures and a fork at the same moment, each is first or second', async () => {
    const { id } = await runToRest(t.engine, 'plain');
    const outcomes = await Promise.allSettled([erase(id), t.engine.forkRun(id, { at: 2 }, ADMIN), erase(id)]);
    const [one, fork, other] = outcomes;
    expect([one, other].flatMap((it) => (it.status === 'fulfilled' ? it.value.erased : ['failed']))).toEqual([id]);
    if (fork.status === 'rejected') expect(fork.reason).toMatchObject({ code: 'run_erased' });
    else expect(await restOf(t.engine, fork.value.id)).toMatchObject({ status: 'completed' });
    expect(await t.engine.verifyRun(id, ADMIN)).toMatchObject({ ok: true, payloads: 'erased' });
  });

  it('is broken when its key or a payload goes or comes another way', async () => {
    const [keyless, full] = [await runToRest(t.engine, 'plain'), await runToRest(t.engine, 'plain')];
    await erase(full.id);
    await t.between(async (knex) => {
      await knex('holdfast.run_keys').where({ run_id: keyless.id }).delete();
      await knex('holdfast.events').where({ run_id: full.id, seq: 1 }).update({ data: '{"input":"another"}' });
    });
    expect(await t.engine.verifyRun(keyless.id, ADMIN)).toMatchObject({
      ...{ ok: false, broken: { invariant: 'payload_hash' } },
    });
    expect(await t.engine.verifyRun(full.id, ADMIN)).toMatchObject({
      ok: false,
      broken: { seq: 1, invariant: 'payload_hash' },
    });
  });
});
