import { Agent } from '@openai/agents';
import { expect, it } from 'vitest';
import { z } from 'zod';
import { type Caller, defineAgent, defineTool, functionModel, memorySpace, memoryTools } from '../../../src/index.js';
import { describeEachDatabase } from '../../harness/database.js';
import { ADMIN, dataOf, engineFor, eventsOf, restOf, runToRest } from '../../harness/engine.js';
import { call, type Output, outputAfter, say } from '../../harness/script.js';

/** Memory: documents that outlive runs, writers beside each other, owners, grants, provenance, forks and replays. */

const facts = memorySpace({ name: 'facts', scope: 'tenant' });
const customers = memorySpace({
  name: 'customers',
  scope: 'user',
  schema: z.object({ name: z.string().optional() }).loose(),
});
const talks = memorySpace({ name: 'talks', scope: 'session' });
const tools = memoryTools(facts, customers, talks);
const GRANTS = ['memory:read:*', 'memory:write:*'];

const writer = (name: string, script: readonly Output[], more: object = {}) =>
  defineAgent({
    agent: new Agent({
      ...{ name, tools: [...tools, tally] },
      model: functionModel(name, async ({ input }) => outputAfter(script, input)),
    }),
    ...{ grants: [...GRANTS, 'tool:call:*'], memory: [facts, customers, talks], ...more },
  });

/** Every writer changes what the same version had. */
const tally = defineTool({
  ...{ name: 'tally', description: 'Counts.', input: z.object({ who: z.string() }), output: z.json() },
  effect: 'idempotent',
  execute: async ({ who }, { memory }) => {
    const ref = await memory.revise('facts', 'tally', {
      version: 1,
      changes: [
        { op: 'add', path: '/n', by: 1 },
        { op: 'append', path: '/who', values: [who] },
        { op: 'set', path: `/of/${who}`, value: who },
      ],
    });
    return { version: ref.version };
  },
});

const WRITERS = 50;
const asWho = ({ input }: { readonly input: unknown }): string => /w\d+/.exec(JSON.stringify(input))?.[0] ?? 'nobody';

const agents = [
  writer('first', [
    [call('remember', { space: 'facts', key: 'tea', content: '{"kind":"green","cups":1}' }, 'c1')],
    [call('recall', { space: 'facts', key: 'tea' }, 'c2')],
    [call('remember', { space: 'facts', key: 'coffee', content: 'It is black, and served hot.' }, 'c3')],
    [call('revise', { space: 'facts', key: 'tea', changes: [{ op: 'add', path: '/cups', value: '2' }] }, 'c4')],
    [say('done')],
  ]),
  writer('reader', [
    [call('recall', { space: 'facts', query: 'served hot' }, 'r1'), call('recall', { space: 'facts' }, 'r2')],
    [call('recall', { space: 'facts', query: 'cold green', match: 'any' }, 'r3')],
    [say('done')],
  ]),
  writer('seed', [[call('remember', { space: 'facts', key: 'tally', content: '{"n":0}' }, 's1')], [say('done')]]),
  defineAgent({
    agent: new Agent({
      ...{ name: 'counter', tools: [tally] },
      model: functionModel('counter', async (request) =>
        outputAfter([[call('tally', { who: asWho(request) }, 't1')], [say('done')]], request.input),
      ),
    }),
    ...{ grants: [...GRANTS, 'tool:call:*'], memory: [facts] },
  }),
  writer('user', [
    [call('remember', { space: 'customers', key: 'who', content: '{"name":"Ada"}' }, 'u1')],
    [call('remember', { space: 'customers', key: 'who', content: '{"name":7}' }, 'u2')],
    [call('recall', { space: 'customers' }, 'u3')],
    [call('forget', { space: 'customers', key: 'who' }, 'u4'), call('forget', { space: 'talks', key: 'who' }, 'u5')],
    [call('recall', { space: 'customers' }, 'u6')],
    [say('done')],
  ]),
  writer(
    'narrow',
    [
      [call('remember', { space: 'facts', key: 'x', content: 'no' }, 'n1')],
      [call('recall', { space: 'facts', key: 'tea' }, 'n2')],
      [say('done')],
    ],
    { grants: ['memory:read:facts'], onDenied: 'tell' },
  ),
];

const outcomes = async (test: { readonly engine: Parameters<typeof dataOf>[0] }, id: string) =>
  Object.fromEntries(
    (await dataOf(test.engine, id, 'call.finished')).map((data) => [data['callId'], data['outcome']] as const),
  ) as Record<
    string,
    { readonly type: string; readonly output?: unknown; readonly memory?: unknown; readonly code?: string }
  >;

describeEachDatabase('memory', (kind) => {
  const test = engineFor(kind, { agents });

  it('is there for the next run, by key, by words and by time, and a replay sees what the run saw', async () => {
    const first = await runToRest(test.engine, 'first');
    expect(first.status).toBe('completed');
    const wrote = await outcomes(test, first.id);
    expect(wrote['c2']).toMatchObject({
      output: { documents: [{ key: 'tea', version: 1, value: { kind: 'green', cups: 1 }, labels: [] }], left: 0 },
      memory: { read: [{ space: 'facts', key: 'tea', version: 1 }] },
    });
    await test.restart();
    const second = await runToRest(test.engine, 'reader');
    const read = await outcomes(test, second.id);
    expect(read['r1']).toMatchObject({ output: { documents: [{ key: 'coffee' }] } });
    expect(read['r2']).toMatchObject({
      output: { documents: [{ key: 'tea', version: 2, value: { cups: 3 } }, { key: 'coffee' }] },
    });
    expect(read['r3']).toMatchObject({ output: { documents: [{ key: 'tea' }] } });
    // What comes later changes nothing of what the run saw.
    await runToRest(test.engine, 'first');
    expect(await test.engine.replayRun(second.id, {}, ADMIN)).toMatchObject({ differences: [] });
    expect(await test.engine.verifyRun(second.id, ADMIN)).toMatchObject({ ok: true });
    const events = await eventsOf(test.engine, second.id);
    const at = events.find((event) => event.kind === 'call.finished')?.seq ?? 0;
    const fork = await test.engine.forkRun(second.id, { at: at + 1 }, ADMIN);
    await restOf(test.engine, fork.id);
    expect((await outcomes(test, fork.id))['r1']).toEqual(read['r1']);
    expect((await outcomes(test, fork.id))['r3']).toMatchObject({
      output: { documents: [{ key: 'tea', value: { cups: 3 } }] },
    });
  });

  it('knows whence each change came', async () => {
    const [tea] = await test.between((knex) =>
      knex('holdfast.memory_changes').where({ key: 'tea' }).orderBy('version', 'desc').limit(1),
    );
    expect(tea).toMatchObject({
      call_id: 'c4',
      agent: 'first',
      base: tea.version - 1,
      labels: '[]',
      actors: '["ada"]',
    });
    expect(JSON.parse(tea.derived_from)).toEqual([{ space: 'facts', key: 'tea', version: expect.any(Number) }]);
    const event = (await eventsOf(test.engine, tea.run_id)).find(({ seq }) => seq === tea.event);
    expect(event).toMatchObject({ kind: 'call.started', data: { callId: 'c4' } });
  });

  it(`takes the changes of ${WRITERS} runs that write at once, each once`, async () => {
    expect((await runToRest(test.engine, 'seed')).status).toBe('completed');
    const ids = await Promise.all(
      Array.from({ length: WRITERS }, async (_, at) => {
        const { id } = await test.engine.startRun({ agent: 'counter', input: `w${at}` }, ADMIN);
        return id;
      }),
    );
    for (const id of ids) expect(await restOf(test.engine, id)).toMatchObject({ status: 'completed' });
    const rows = await test.between((knex) => knex('holdfast.memory_documents').where({ key: 'tally' }));
    const value = JSON.parse(rows[0].value);
    const names = Array.from({ length: WRITERS }, (_, at) => `w${at}`);
    expect(value.n).toBe(WRITERS);
    expect([...value.who].sort()).toEqual([...names].sort());
    expect(value.of).toEqual(Object.fromEntries(names.map((name) => [name, name])));
    expect(rows[0].version).toBe(WRITERS + 1);
  });

  it('belongs to the subject of the run, fits its schema, and is forgotten with its history', async () => {
    const run = async (subjects: readonly string[]) => {
      const { id } = await test.engine.startRun(
        { agent: 'user', input: 'go', ...(subjects.length === 0 ? {} : { subjects: [...subjects] }) },
        ADMIN,
      );
      expect(await restOf(test.engine, id)).toMatchObject({ status: 'completed' });
      return outcomes(test, id);
    };
    const said = await run(['customer-1']);
    expect(said['u2']).toMatchObject({ type: 'error', code: 'memory_invalid' });
    expect(said['u3']).toMatchObject({ output: { documents: [{ key: 'who', value: { name: 'Ada' }, version: 1 }] } });
    expect(said['u4']).toMatchObject({ output: { forgotten: true } });
    expect(said['u5']).toMatchObject({ type: 'error', code: 'memory_without_owner' });
    expect(said['u6']).toMatchObject({ output: { documents: [] } });
    expect((await run([]))['u1']).toMatchObject({ type: 'error', code: 'memory_without_owner' });
    expect((await run(['customer-1', 'customer-2']))['u1']).toMatchObject({ code: 'memory_without_owner' });
    const left = await test.between((knex) => knex('holdfast.memory_changes').where({ space: 'customers' }));
    expect(left).toEqual([]);
  });

  it('is of one tenant, and needs its grants', async () => {
    const narrow = await runToRest(test.engine, 'narrow');
    const said = await outcomes(test, narrow.id);
    expect(said['n1']).toMatchObject({ type: 'refused', why: 'denied' });
    expect(said['n2']).toMatchObject({ output: { documents: [{ key: 'tea' }] } });
    const other: Caller = { actor: 'eve', role: 'admin', tenant: 'acme' };
    const { id } = await test.engine.startRun({ agent: 'narrow', input: 'go' }, other);
    await test.engine.getRun(id, other, { waitMs: 20_000 });
    const { items } = await test.engine.listEvents(id, { after: 0, limit: 100 }, other);
    const ended = items.filter((event) => event.kind === 'call.finished').at(-1);
    expect(ended?.data).toMatchObject({ outcome: { output: { documents: [] } } });
  });

  it('is listed, read with its history, and forgotten by people of its tenant', async () => {
    const { items: spaces } = await test.engine.listMemorySpaces(ADMIN);
    expect(spaces).toMatchObject([
      { space: 'customers', scope: 'user', documents: 0, changedAt: null },
      { space: 'facts', scope: 'tenant', documents: 3 },
      { space: 'talks', scope: 'session', documents: 0 },
    ]);
    const first = await test.engine.listMemory('facts', { limit: 2 }, ADMIN);
    expect(first.items.map(({ key }) => key)).toEqual(['coffee', 'tally']);
    const rest = await test.engine.listMemory('facts', { limit: 2, cursor: first.nextCursor ?? '' }, ADMIN);
    expect(rest).toMatchObject({ items: [{ key: 'tea', owner: '' }], nextCursor: null });
    const found = await test.engine.listMemory('facts', { limit: 2, q: 'served BLACK' }, ADMIN);
    expect(found.items.map(({ key }) => key)).toEqual(['coffee']);
    expect((await test.engine.listMemory('facts', { limit: 2, q: 'served nowhere' }, ADMIN)).items).toEqual([]);
    const name = { space: 'facts', owner: '', key: 'tally' };
    const page = await test.engine.getMemory(name, { after: 1, limit: 10 }, ADMIN);
    expect(page).toMatchObject({ version: WRITERS + 1, more: true, value: { n: WRITERS } });
    expect(page.history.map(({ version, base }) => [version, base])).toEqual(
      Array.from({ length: 10 }, (_, at) => [at + 2, 1]),
    );
    expect(page.history[0]).toMatchObject({ callId: 't1', agent: 'counter', actors: ['ada'], changes: { length: 3 } });
    for (const after of [2 ** 31, Number.MAX_SAFE_INTEGER])
      expect(await test.engine.getMemory(name, { after, limit: 1 }, ADMIN)).toMatchObject({ history: [], more: false });
    const other = { ...ADMIN, tenant: 'acme' };
    await expect(test.engine.forgetMemory(name, other)).rejects.toMatchObject({ code: 'memory_unknown' });
    expect(await test.engine.forgetMemory(name, ADMIN)).toEqual({ ...name, version: WRITERS + 1 });
    await expect(test.engine.getMemory(name, { after: 0, limit: 1 }, ADMIN)).rejects.toMatchObject({
      code: 'memory_unknown',
    });
  });

  it('is declared alike by all agents that share a space', async () => {
    const facts = memorySpace({ name: 'facts', scope: 'agent' });
    const odd = defineAgent({ agent: new Agent({ name: 'odd' }), memory: [facts] });
    await expect(test.restart({ agents: [...agents, odd] })).rejects.toMatchObject({ code: 'agent_invalid' });
    const named = (memorySpaces: readonly ReturnType<typeof memorySpace>[], memory: readonly string[] = ['shared']) =>
      test.restart({ memorySpaces, agents: [...agents, defineAgent({ agent: new Agent({ name: 'named' }), memory })] });
    const shared = memorySpace({ name: 'shared', scope: 'agent' });
    await expect(named([shared, shared])).rejects.toMatchObject({ code: 'config_invalid' });
    await expect(named([shared], ['other'])).rejects.toMatchObject({ code: 'agent_invalid' });
    await expect(named([facts])).rejects.toMatchObject({ code: 'agent_invalid' });
    await named([shared]);
    expect((await test.engine.listMemorySpaces(ADMIN)).items).toContainEqual({
      ...{ space: 'shared', scope: 'agent', documents: 0, changedAt: null },
    });
    expect(() => memorySpace({ name: 'No', scope: 'agent' })).toThrow(
      expect.objectContaining({ code: 'agent_invalid' }),
    );
  });
});
