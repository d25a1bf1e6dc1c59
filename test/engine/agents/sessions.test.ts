import { Agent, type AgentInputItem, handoff, MemorySession } from '@openai/agents';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import {
  type Caller,
  createEngine,
  defineAgent,
  defineTool,
  type Engine,
  functionModel,
  runAgent,
} from '../../../src/index.js';
import { openDatabase } from '../../../src/storage/database/open-database.js';
import { createEngineDatabase, describeEachDatabase, describeEachDatabaseSlowly } from '../../harness/database.js';
import {
  ADMIN,
  decideAndRest,
  eventsOf,
  kindsOf,
  openTestEngine,
  restOf,
  type TestEngine,
} from '../../harness/engine.js';
import { call, say, textOf } from '../../harness/script.js';
import { SLOW } from '../../harness/slow.js';

type Item = { readonly type?: string; readonly role?: string; readonly content?: unknown; readonly output?: unknown };
const itemsOf = (input: unknown): readonly Item[] => (Array.isArray(input) ? (input as Item[]) : []);

/** Answers to what was asked last; says how much it was shown, so that a lost or doubled item changes its words. */
const model = functionModel('talker', async (request) => {
  const items = itemsOf(request.input);
  const asked = items.findLastIndex((item) => item.role === 'user');
  const question = textOf(items[asked]?.content ?? '');
  const results = items.slice(asked).filter((item) => item.type === 'function_call_result');
  if (question === 'break') throw new Error('the model is broken');
  if (question.startsWith('add') && results.length === 0) {
    return [call('add', { n: 1 }, 'call_add'), call('add', { n: 2 }, 'call_more')];
  }
  if (question.startsWith('pay') && results.length === 0) return [call('pay', { n: 3 }, 'call_pay')];
  if (question.startsWith('hand') && results.length === 0 && request.handoffs.length > 0) {
    return [call('transfer_to_second', {}, 'call_hand')];
  }
  return [say(`${items.length} items; ${results.map(({ output }) => textOf(output)).join(', ')}`)];
});

const shape = { input: z.object({ n: z.number() }), output: z.object({ sum: z.number() }) };
const add = defineTool({
  ...{ name: 'add', description: 'Adds one.', ...shape, effect: 'pure' },
  execute: ({ n }) => ({ sum: n + 1 }),
});
const pay = defineTool({
  ...{ name: 'pay', description: 'Pays.', ...shape, approval: true, effect: 'idempotent' },
  execute: ({ n }) => ({ sum: n }),
});
const second = new Agent({ name: 'second', model });
const talker = new Agent({ name: 'talker', model, tools: [add, pay], handoffs: [second] });
const forgetful = new Agent({
  ...{ name: 'forgetful', model },
  handoffs: [handoff(second, { inputFilter: (data) => ({ ...data, preHandoffItems: [], newItems: [] }) })],
});
const grants = ['tool:call:add', 'tool:call:pay'];
const slow = new Agent({ name: 'slow', model: functionModel('slow', () => [say('late')], { delayMs: 60_000 }) });
const config = {
  agents: [
    defineAgent({ agent: slow }),
    defineAgent({ agent: talker, grants }),
    defineAgent({ agent: forgetful, grants }),
  ],
};

describeEachDatabase('sessions', (kind) => {
  let test: TestEngine;
  let engine: Engine;
  beforeAll(async () => {
    test = await openTestEngine(kind, { ...config, turnsPerSegment: 1 });
    engine = test.engine;
  });
  afterAll(() => test.close());

  const rest = (id: string) => restOf(engine, id);
  const ask = async (sessionId: string, input: string, agent = 'talker') =>
    rest((await engine.startRun({ agent, input, sessionId }, ADMIN)).id);
  const kept = async (id: string) =>
    (await engine.listSessionItems(id, { after: 0, limit: 200 }, ADMIN)).items.map(({ item }) => item);

  /** What the SDK's own session keeps of the same conversation, without Holdfast. */
  const plainly = async (agent: Agent, inputs: readonly string[]): Promise<AgentInputItem[]> => {
    const session = new MemorySession();
    for (const input of inputs) {
      const result = await runAgent(agent, input, { session });
      for (const item of result.interruptions) result.state.approve(item);
      if (result.interruptions.length > 0) await runAgent(agent, result.state, { session });
    }
    return session.getItems();
  };

  it('keeps what the session of the SDK keeps, through tools, cuts of segments and handoffs', async () => {
    const inputs = ['hello', 'add it', 'hand over', 'hello again'];
    for (const input of inputs) expect(await ask('same', input)).toMatchObject({ status: 'completed' });
    expect(await kept('same')).toEqual(await plainly(talker, inputs));
    expect(await ask('filtered', 'hand over', 'forgetful')).toMatchObject({ status: 'completed' });
    expect(await kept('filtered')).toEqual(await plainly(forgetful, ['hand over']));
  });

  it('gives a run the conversation so far, and its log says so', async () => {
    await ask('log', 'hello');
    const run = await ask('log', 'add it');
    expect(run).toMatchObject({ sessionId: 'log', output: expect.stringMatching(/^7 items; {"sum":2}, {"sum":3}$/) });
    expect(itemsOf(run.input)).toHaveLength(3);
    const items = await eventsOf(engine, run.id);
    expect(items[1]).toMatchObject({ kind: 'session.loaded', data: { sessionId: 'log', items: 2 } });
    expect(items.at(-2)).toMatchObject({ kind: 'session.saved', data: { sessionId: 'log', items: 6 } });
    expect(await engine.verifyRun(run.id, ADMIN)).toMatchObject({ ok: true, complete: true });
    const page = await engine.listSessionItems('log', { after: 2, limit: 1 }, ADMIN);
    expect(page).toMatchObject({ items: [{ seq: 3, runId: run.id, item: { content: 'add it' } }], nextCursor: '3' });
  });

  it('gives a call that repeats an id of the conversation one of its own', async () => {
    await ask('ids', 'add it');
    await ask('ids', 'add more');
    const ids = (await kept('ids')).filter((item) => item['type'] === 'function_call').map((item) => item['callId']);
    expect(new Set(ids).size).toBe(4);
  });

  it('is held by a paused run; another start is refused and names it; what was decided is kept', async () => {
    const paused = await ask('paused', 'pay it');
    expect(paused.status).toBe('paused');
    const another = engine.startRun({ agent: 'talker', input: 'hello', sessionId: 'paused' }, ADMIN);
    await expect(another).rejects.toMatchObject({
      code: 'session_busy',
      message: expect.stringContaining(`${paused.id}, which is paused`),
    });
    expect(await engine.getSession('paused', ADMIN)).toMatchObject({ runId: paused.id, items: 0 });
    await expect(engine.deleteSession('paused', ADMIN)).rejects.toMatchObject({ code: 'session_busy' });
    for (const limit of [1.5, Number.NaN])
      await expect(engine.openSession('paused', ADMIN).getItems(limit)).rejects.toMatchObject({
        code: 'invalid_request',
      });
    await expect(engine.openSession('paused', ADMIN).addItems([])).rejects.toMatchObject({ code: 'session_busy' });
    await expect(engine.openSession('fresh', ADMIN).addItems([{} as never])).rejects.toMatchObject({
      ...{ code: 'invalid_request', fields: [{ pointer: '/items/0' }] },
    });
    await expect(engine.getSession('fresh', ADMIN)).rejects.toMatchObject({ code: 'session_unknown' });
    await decideAndRest(engine, paused.id, { verdict: 'approve' });
    expect(await engine.getSession('paused', ADMIN)).toMatchObject({ runId: null, items: 4 });
    const calls = (items: readonly unknown[]) => itemsOf(items).map(({ type, role }) => role ?? type);
    expect(calls(await kept('paused'))).toEqual(['user', 'function_call', 'function_call_result', 'assistant']);
  });

  it.each([
    ['failed', 'break'],
    ['cancelled while it waits', 'pay it'],
  ])('is as it was after a run that %s', async (name, input) => {
    const id = `ends-${input.replace(' ', '-')}`;
    await ask(id, 'hello');
    const before = await kept(id);
    const run = await ask(id, input);
    if (run.status === 'paused') await engine.cancelRun(run.id, name, ADMIN);
    expect((await rest(run.id)).status).toMatch(/failed|cancelled/);
    expect(await kindsOf(engine, run.id)).not.toContain('session.saved');
    expect(await engine.getSession(id, ADMIN)).toMatchObject({ runId: null, items: 2 });
    expect(await kept(id)).toEqual(before);
    expect(await ask(id, 'hello')).toMatchObject({ status: 'completed', output: '3 items; ' });
  });

  it('lets one of twenty starts at once in', async () => {
    const starts = await Promise.allSettled(
      Array.from({ length: 20 }, () => engine.startRun({ agent: 'talker', input: 'pay it', sessionId: 'race' }, ADMIN)),
    );
    const refused = starts.flatMap((one) => (one.status === 'rejected' ? [one.reason.code] : []));
    expect(refused).toEqual(Array.from({ length: 19 }, () => 'session_busy'));
    const { runId } = await engine.getSession('race', ADMIN);
    await rest(runId ?? '');
    await engine.cancelRun(runId ?? '', null, ADMIN);
  });

  it('gives a repeated request its run, also while that run holds the session', async () => {
    const start = () =>
      engine.startRun({ agent: 'talker', input: 'pay it', sessionId: 'again' }, ADMIN, 'the same key');
    const runs = await Promise.all([start(), start(), start()]);
    expect(new Set(runs.map(({ id }) => id)).size).toBe(1);
    await rest(runs[0].id);
    expect((await start()).id).toBe(runs[0].id);
    await engine.cancelRun(runs[0].id, null, ADMIN);
  });

  it('belongs to its tenant', async () => {
    await ask('whose', 'hello');
    const other: Caller = { ...ADMIN, tenant: 'other' };
    await expect(engine.getSession('whose', other)).rejects.toMatchObject({ code: 'session_unknown' });
    expect((await engine.startRun({ agent: 'talker', input: 'hi', sessionId: 'whose' }, other)).input).toHaveLength(1);
  });

  it('is deleted with its items; its runs stay', async () => {
    const run = await ask('gone', 'hello');
    expect(await engine.deleteSession('gone', ADMIN)).toMatchObject({ id: 'gone', items: 2 });
    await expect(engine.deleteSession('gone', ADMIN)).rejects.toMatchObject({ code: 'session_unknown' });
    await expect(engine.listSessionItems('gone', { after: 0, limit: 1 }, ADMIN)).rejects.toMatchObject({
      code: 'session_unknown',
    });
    expect(await rest(run.id)).toMatchObject({ sessionId: 'gone' });
    expect(await ask('gone', 'hello')).toMatchObject({ output: '1 items; ' });
  });

  it.runIf(SLOW)('takes no new run beyond its bound', async () => {
    const message = { type: 'message' as const, role: 'user' as const, content: 'x' };
    await engine.openSession('full', ADMIN).addItems(Array.from({ length: 10_000 }, () => message));
    await expect(engine.startRun({ agent: 'talker', input: 'hello', sessionId: 'full' }, ADMIN)).rejects.toMatchObject({
      code: 'session_full',
    });
    await expect(engine.openSession('full', ADMIN).addItems([message])).rejects.toMatchObject({ code: 'session_full' });
    await engine.openSession('full', ADMIN).popItem();
    expect(await ask('full', 'hello')).toMatchObject({ status: 'completed', output: '10000 items; ' });
  });

  it('refuses an id that no path can carry', async () => {
    for (const id of ['', '..', 'two words', 'x'.repeat(201)]) {
      await expect(engine.startRun({ agent: 'talker', input: 'hi', sessionId: id }, ADMIN)).rejects.toMatchObject({
        code: 'invalid_request',
      });
      expect(() => engine.openSession(id, ADMIN)).toThrow(expect.objectContaining({ code: 'invalid_request' }));
    }
  });

  it('lists sessions page by page, newest first', async () => {
    for (const id of ['page-1', 'page-2', 'page-3']) await ask(id, 'hello');
    const first = await engine.listSessions({ limit: 2 }, ADMIN);
    expect(first.items.map(({ id }) => id)).toEqual(['page-3', 'page-2']);
    const next = await engine.listSessions({ limit: 2, cursor: first.nextCursor ?? '' }, ADMIN);
    expect(next.items[0]?.id).toBe('page-1');
  });

  it('is free after a run that was cancelled while it worked', async () => {
    const { id } = await engine.startRun({ agent: 'slow', input: 'hello', sessionId: 'stopped' }, ADMIN);
    await expect.poll(async () => (await engine.getRun(id, ADMIN)).status).toBe('running');
    await engine.cancelRun(id, null, ADMIN);
    expect((await rest(id)).status).toBe('cancelled');
    expect(await engine.getSession('stopped', ADMIN)).toMatchObject({ runId: null, items: 0 });
  });

  describe('of a program that runs agents itself', () => {
    it('is the same conversation', async () => {
      const session = engine.openSession('plain', ADMIN);
      expect(await session.getItems()).toEqual([]);
      expect(await session.popItem()).toBeUndefined();
      await runAgent(talker, 'add it', { session });
      expect(await ask('plain', 'hello')).toMatchObject({ output: '7 items; ' });
      const { finalOutput } = await runAgent(talker, 'hello', { session });
      expect(finalOutput).toBe('9 items; ');
      expect(await session.getItems()).toEqual(await plainly(talker, ['add it', 'hello', 'hello']));
      expect(await session.getItems(1)).toEqual([await session.popItem()]);
      await session.clearSession();
      expect(await session.getItems()).toEqual([]);
      expect(await engine.getSession('plain', ADMIN)).toMatchObject({ items: 0, bytes: 0 });
    });

    it('may hold a call without a result, which no model is shown', async () => {
      const session = engine.openSession('orphan', ADMIN);
      await session.addItems([{ type: 'message', role: 'user', content: 'pay it' }, call('pay', { n: 1 })]);
      expect(await ask('orphan', 'hello')).toMatchObject({ status: 'completed', output: '2 items; ' });
    });
  });
});

describeEachDatabaseSlowly('a session of a run that can never go on', (kind) => {
  it('is free when the run was ended by name', { timeout: 120_000 }, async () => {
    const { options, drop } = await createEngineDatabase(kind);
    const open = () => createEngine({ ...config, ...options, workerId: 'test' });
    let engine = await open();
    try {
      const { id } = await engine.startRun({ agent: 'slow', input: 'hello', sessionId: 'stranded' }, ADMIN);
      await expect.poll(async () => (await engine.getRun(id, ADMIN)).status).toBe('running');
      await engine.stop({ graceMs: 1 });
      const database = await openDatabase(options);
      await database.knex.raw('delete from dbos.workflow_status where workflow_uuid = ?', [id]);
      await database.knex.raw(`update holdfast.runs set updated_at = now() - interval '1 minute'`);
      await database.close();
      engine = await open();
      expect(await restOf(engine, id)).toMatchObject({ status: 'failed' });
      expect(await engine.getSession('stranded', ADMIN)).toMatchObject({ runId: null, items: 0 });
    } finally {
      await engine.stop({ graceMs: 1 });
      await drop();
    }
  });
});
