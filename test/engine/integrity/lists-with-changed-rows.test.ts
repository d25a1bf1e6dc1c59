import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Agent } from '@openai/agents';
import type { Knex } from 'knex';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { z } from 'zod';
import { defineAgent, defineTool, functionModel, memorySpace, memoryTools } from '../../../src/index.js';
import { aTask } from '../../core/tasks/a-task.js';
import { describeEachDatabase } from '../../harness/database.js';
import { ADMIN, BOB, engineFor, pendingOf, restOf, runToRest } from '../../harness/engine.js';
import { call, outputAfter, say } from '../../harness/script.js';

/** One row that someone has changed hides no other row of its list: it is named beside them, or in what is shown of it. */

const NO_JSON = '{"half';
const PAGE = { limit: 50 };

const facts = memorySpace({ name: 'facts', scope: 'tenant' });
const ask = defineTool({
  ...{ name: 'ask', description: 'Asks.', effect: 'pure', approval: true },
  ...{ input: z.object({}), output: z.json(), execute: () => null },
});
const scripts = {
  talker: [[say('done')]],
  asks: [[call('ask', {}, 'a'), call('ask', {}, 'b')], [say('done')]],
  writes: [
    [call('remember', { space: 'facts', key: 'one', content: '{"n":1}' }, 'w1')],
    [call('remember', { space: 'facts', key: 'two', content: '{"n":2}' }, 'w2')],
    [say('done')],
  ],
};
const agents = Object.entries(scripts).map(([name, script]) =>
  defineAgent({
    agent: new Agent({
      ...{ name, model: functionModel(name, async ({ input }) => outputAfter(script, input)) },
      tools: [ask, ...memoryTools(facts)],
    }),
    grants: ['tool:call:*', 'memory:read:*', 'memory:write:*'],
    memory: [facts],
  }),
);

describeEachDatabase('a changed row of a list', (kind) => {
  let server: Server;
  const told: { readonly type: string; readonly data: { readonly runId: string } }[] = [];
  beforeAll(async () => {
    server = createServer(async (request, response) => {
      let body = '';
      for await (const piece of request) body += String(piece);
      told.push(JSON.parse(body));
      response.writeHead(204).end();
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  });
  afterAll(() => server.close());
  const address = () => `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  const webhooks = [
    { name: 'ends', url: { place: 'the test', read: async () => address() }, kinds: ['run.ended' as const] },
  ];
  const t = engineFor(kind, { agents, webhooks });
  const change = (table: string, columns: Record<string, string | null>, where: object) =>
    t.between(async (knex: Knex) => expect(await knex(`holdfast.${table}`).where(where).update(columns)).toBe(1));
  const named = (id: string, ...parts: readonly string[]) => [
    { id, error: expect.objectContaining({ code: 'row_changed', message: expect.stringMatching(parts.join('.*')) }) },
  ];

  it('is named beside the items of a session, also where it is the last of its page', async () => {
    const { id } = await t.engine.startRun({ agent: 'talker', input: 'go', sessionId: 'ann' }, ADMIN);
    await restOf(t.engine, id);
    await change('session_items', { item: NO_JSON }, { session_id: 'ann', seq: 1 });
    const whole = await t.engine.listSessionItems('ann', { after: 0, limit: 50 }, ADMIN);
    expect(whole.items.map(({ seq }) => seq)).toEqual([2]);
    expect(whole.unreadable).toEqual(named('1', 'session_items', '1 of session ann', 'item'));
    const first = await t.engine.listSessionItems('ann', { after: 0, limit: 1 }, ADMIN);
    expect(first).toMatchObject({ items: [], unreadable: named('1'), nextCursor: '1' });
    const next = await t.engine.listSessionItems('ann', { after: 1, limit: 1 }, ADMIN);
    expect(next).toEqual({ items: [expect.objectContaining({ seq: 2 })], nextCursor: null });
  });

  it('is named beside the versions of a reward, and takes its own run out of an export', async () => {
    const [{ id }, { id: other }] = [await runToRest(t.engine, 'talker'), await runToRest(t.engine, 'talker')];
    await t.engine.rewardRun(id, { reward: 1 }, ADMIN);
    await t.engine.rewardRun(id, { reward: 0.5 }, BOB);
    await change('rewards', { data: '{"reward":"high"}' }, { run_id: id, version: 2 });
    const { items, unreadable } = await t.engine.listRewards(id, { after: 0, limit: 9 }, ADMIN);
    expect(items.map(({ version }) => version)).toEqual([1]);
    expect(unreadable).toEqual(named('2', 'rewards', `version 2 of run ${id}`, 'data'));
    const listed = (await t.engine.listTrajectories({ ...PAGE }, ADMIN)).items;
    const unread = {
      table: 'rewards',
      row: id,
      column: null,
      what: expect.stringContaining('data: it has another shape'),
    };
    expect(listed.find(({ runId }) => runId === id)?.integrity).toEqual([unread]);
    expect(listed.find(({ runId }) => runId === other)?.integrity).toEqual([]);
    expect((await t.engine.getTrajectory(id, ADMIN)).integrity).toEqual([unread]);
    const ids = [];
    for await (const { runId } of t.engine.streamTrajectories({}, ADMIN)) ids.push(runId);
    expect(ids).toEqual(expect.arrayContaining([id, other]));
    const asked = await t.engine.startExport({ format: 'jsonl', to: { folder: 'beside' } }, ADMIN);
    const ended = () => t.engine.getExport(asked.id, ADMIN);
    await expect.poll(async () => (await ended()).status, { timeout: 20_000 }).toBe('completed');
    expect((await ended()).progress.skipped).toMatchObject({ row_changed: 1 });
  });

  it('is named in a list of trajectories, where it was kept for lists', async () => {
    const { id } = await runToRest(t.engine, 'talker');
    await t.engine.listTrajectories({ ...PAGE }, ADMIN);
    await change('trajectories', { counts: NO_JSON }, { run_id: id });
    const { items } = await t.engine.listTrajectories({ ...PAGE }, ADMIN);
    expect(items.find(({ runId }) => runId === id)).toMatchObject({
      counts: null,
      integrity: [{ table: 'trajectories', row: id, column: 'counts' }],
    });
  });

  it('is named beside exports, workers and standing decisions', async () => {
    const asked = await t.engine.startExport({ format: 'jsonl', to: { folder: 'one' } }, ADMIN);
    await t.engine.startExport({ format: 'jsonl', to: { folder: 'two' } }, ADMIN);
    const { id: run } = await runToRest(t.engine, 'asks');
    const first = await pendingOf(t.engine, run, 'ask');
    await t.engine.decide(first?.id ?? '', { verdict: 'approve', digest: first?.digest, always: true }, BOB);
    const second = await pendingOf(t.engine, run, 'ask');
    await t.engine.decide(second?.id ?? '', { verdict: 'approve', digest: second?.digest, always: true }, BOB);
    await restOf(t.engine, run);
    const [oldest] = (await t.engine.listStandingDecisions(run, PAGE, ADMIN)).items;
    await t.between(async (knex) => {
      await knex('holdfast.exports').where({ id: asked.id }).update({ request: '{"format":"none"}' });
      await knex('holdfast.standing_decisions').where({ id: oldest?.id }).update({ scope: NO_JSON });
      await knex('holdfast.workers').insert({
        ...(await knex('holdfast.workers').first()),
        ...{ id: 'gone', offer: NO_JSON, stopped_at: new Date() },
      });
    });
    const exports_ = await t.engine.listExports(PAGE, ADMIN);
    expect(exports_.items.length).toBeGreaterThan(0);
    expect(exports_.unreadable).toEqual(named(asked.id, 'exports', 'request', '/format'));
    const workers = await t.engine.listWorkers(PAGE);
    expect(workers.items.map(({ id }) => id)).toContain('test');
    expect(workers.unreadable).toEqual(named('gone', 'workers', 'offer'));
    const standing = await t.engine.listStandingDecisions(run, PAGE, ADMIN);
    expect(standing.items).toHaveLength(1);
    expect(standing.unreadable).toEqual(named(oldest?.id ?? '', 'standing_decisions', 'scope'));
  });

  it('is named beside versions of agents', async () => {
    const { definitionHash: base } = await t.engine.getAgent('talker', ADMIN);
    const version = (id: string, patch: string) => ({
      ...{ id, agent: 'talker', base_hash: base, definition_hash: `${base.slice(0, -4)}${id}`, version: `1+${id}` },
      ...{ patch, status: 'rolled_back' },
    });
    await t.between((knex) =>
      knex('holdfast.agent_versions').insert([version('good', '[]'), version('evil', NO_JSON)]),
    );
    const page = await t.engine.listVersions(PAGE, ADMIN);
    expect(page.items.map(({ id }) => id)).toEqual(['good']);
    expect(page.unreadable).toEqual(named('evil', 'agent_versions', 'patch'));
    const one = await t.engine.getEvolution('talker', ADMIN);
    expect(one.versions.map(({ id }) => id)).toEqual(['good']);
    expect(one.unreadable).toEqual(named('evil', 'agent_versions', 'patch'));
  });

  it('is shown with `integrity` where it is of memory: documents, and their changes', async () => {
    await runToRest(t.engine, 'writes');
    const of = { space: 'facts', owner: '', key: 'one' };
    await change('memory_documents', { labels: NO_JSON }, of);
    const { items } = await t.engine.listMemory('facts', PAGE, ADMIN);
    const column = { table: 'memory_documents', column: 'labels' };
    expect(items.map(({ key, labels, integrity }) => [key, labels, integrity])).toEqual([
      ['one', [], [expect.objectContaining(column)]],
      ['two', [], []],
    ]);
    await change('memory_changes', { ops: NO_JSON, actors: '7' }, { ...of, version: 1 });
    await change('memory_documents', { value: '[]' }, of);
    const document = await t.engine.getMemory(of, { after: 0, limit: 9 }, ADMIN);
    expect(document).toMatchObject({ value: {}, history: [{ version: 1, changes: [], actors: [] }] });
    const columns = document.integrity.map((one) => `${one.table}.${one.column}`);
    const found = ['memory_documents.labels', 'memory_documents.value', 'memory_changes.ops', 'memory_changes.actors'];
    expect(columns).toEqual(expect.arrayContaining(found));
  });

  it('is told with what can be read, where it is an event of the system: to lists, streams and webhooks', async () => {
    const { id } = await runToRest(t.engine, 'talker');
    const of = { kind: 'run.ended' as const, runId: id };
    await expect.poll(() => told.some(({ data }) => data.runId === id), { timeout: 20_000 }).toBe(true);
    await t.between(async (knex) => {
      await knex('holdfast.system_events').where({ kind: of.kind, run_id: id }).update({ data: NO_JSON });
      await knex('holdfast.webhooks').update({ position: 0, due_at: new Date(0) });
    });
    const { id: later } = await runToRest(t.engine, 'talker');
    const { items } = await t.engine.listSystemEvents({ after: 0, limit: 1000, kind: of.kind }, ADMIN);
    const bad = { runId: id, data: {}, integrity: [{ table: 'system_events', column: 'data' }] };
    expect(items.find(({ runId }) => runId === id)).toMatchObject(bad);
    expect(items.find(({ runId }) => runId === later)).toMatchObject({ data: { status: 'completed' } });
    const seen = [];
    const controller = new AbortController();
    const asked = { after: 0, kind: of.kind, signal: controller.signal };
    for await (const one of t.engine.streamSystemEvents(asked, ADMIN)) {
      if (!('runId' in one)) continue;
      seen.push(one.runId);
      if (one.runId === later) controller.abort();
    }
    expect(seen).toContain(id);
    const again = () =>
      told.filter(({ data }) => data.runId === id).length + (told.some(({ data }) => data.runId === later) ? 10 : 0);
    await expect.poll(again, { timeout: 20_000 }).toBe(12);
  });

  it('is named where a time of it is none: exports, sessions, definitions, accesses', async () => {
    const task = aTask();
    await t.engine.registerTask({ task }, ADMIN);
    await t.engine.registerTask({ task: { ...task, version: '2.0.0' } }, ADMIN);
    const { id: run } = await t.engine.startRun({ agent: 'talker', input: 'go', sessionId: 'eve' }, ADMIN);
    await restOf(t.engine, run);
    const asked = await t.engine.startExport({ format: 'jsonl', to: { folder: 'three' } }, ADMIN);
    await t.between(async (knex) => {
      await knex('holdfast.exports').where({ id: asked.id }).update({ created_at: 'infinity' });
      await knex('holdfast.sessions').where({ id: 'eve' }).update({ updated_at: '-infinity' });
      await knex('holdfast.task_definitions').where({ version: '2.0.0' }).update({ registered_at: 'infinity' });
    });
    const times = async (page: Promise<{ readonly items: readonly unknown[]; readonly unreadable?: unknown }>) => {
      const { items, unreadable } = await page;
      return [items.length > 0, unreadable];
    };
    expect(await times(t.engine.listExports(PAGE, ADMIN))).toEqual([
      true,
      expect.arrayContaining(named(asked.id, 'created_at: it is no time')),
    ]);
    expect(await times(t.engine.listSessions(PAGE, ADMIN))).toEqual([true, named('eve', 'updated_at: it is no time')]);
    expect(await times(t.engine.listTaskDefinitions(PAGE, ADMIN))).toEqual([
      true,
      named(`${task.name}@2.0.0`, 'registered_at: it is no time'),
    ]);
    await expect(t.engine.getSession('eve', ADMIN)).rejects.toMatchObject({ code: 'row_changed' });
  });
});
