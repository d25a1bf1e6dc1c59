import { Agent } from '@openai/agents';
import type { Knex } from 'knex';
import { beforeAll, expect, it } from 'vitest';
import { z } from 'zod';
import { defineAgent, defineTool, functionModel, memorySpace, memoryTools, waitFor } from '../../../src/index.js';
import { MEMORY_EVIDENCE } from '../../../src/storage/integrity/proven-memory.js';
import { describeEachDatabase } from '../../harness/database.js';
import { ADMIN, BOB, dataOf, engineFor, restOf, runToRest } from '../../harness/engine.js';
import { call, type Output, outputAfter, say } from '../../harness/script.js';
import { after, changeColumn, described, verify } from '../integrity/changed-rows.js';

/** Rows of memory that someone changes by SQL: `verify` names them, and a call that would read or change such a document fails. */

const facts = memorySpace({ name: 'facts', scope: 'tenant', retention: { days: 30 } });
const fetchPage = defineTool({
  ...{ name: 'fetch_page', description: 'Reads a page.', effect: 'pure', untrusted: 'web' },
  ...{ input: z.object({}), output: z.json(), execute: () => 'text' },
});
/** Writes before it waits, and after. */
const asks = defineTool({
  ...{ name: 'asks', description: 'Asks.', effect: 'idempotent', input: z.object({}), output: z.json() },
  execute: async (_, { memory }) => {
    await memory.remember('facts', { before: 1 }, { key: 'asked' });
    return waitFor({ kind: 'question', text: 'Which?' });
  },
  resume: async (_, __, { memory }) => {
    await memory.remember('facts', { after: 1 }, { key: 'asked' });
    return null;
  },
});
const slow = defineTool({
  ...{ name: 'slow', description: 'Takes too long.', effect: 'idempotent', timeoutMs: 3000 },
  ...{ input: z.object({}), output: z.json() },
  execute: async (_, { memory, signal }) => {
    await memory.remember('facts', { slow: 1 }, { key: 'slow' });
    await new Promise((resolve) => signal.addEventListener('abort', resolve));
    return null;
  },
});
const agent = (name: string, script: readonly Output[]) =>
  defineAgent({
    agent: new Agent({
      ...{ name, model: functionModel(name, async ({ input }) => outputAfter(script, input)) },
      tools: [fetchPage, asks, slow, ...memoryTools(facts)],
    }),
    grants: ['tool:call:*', 'memory:read:*', 'memory:write:*'],
    memory: [facts],
  });
const recall = call('recall', { space: 'facts', key: 'plan' }, 'r');
const revise = (value: string, id: string) =>
  call('revise', { space: 'facts', key: 'plan', changes: [{ op: 'append', path: '/steps', value }] }, id);

const agents = [
  agent('first', [
    [call('fetch_page', {}, 'p')],
    [call('remember', { space: 'facts', key: 'plan', content: '{"text":"Ask first.","steps":["a"]}' }, 'w1')],
    [recall],
    [revise('b', 'w2')],
    [say('done')],
  ]),
  agent('second', [[recall], [revise('c', 'w3')], [say('done')]]),
  agent('reads', [[recall], [say('done')]]),
  agent('writes', [[revise('d', 'w4')], [say('done')]]),
  agent('waits', [[call('asks', {}, 'q')], [say('done')]]),
  agent('slows', [[call('slow', {}, 's')], [say('done')]]),
  agent('forgets', [[call('forget', { space: 'facts', key: 'plan' }, 'f')], [say('done')]]),
];

const PLACE = { tenant: 'default', space: 'facts', owner: '' };
const TABLES = ['memory_documents', 'memory_changes', 'memory_writes'] as const;
/** Under another name a row is another one. */
const NAMING = new Set([
  ...['tenant', 'space', 'owner', 'key', 'version'].map((column) => `memory_changes.${column}`),
  ...['tenant', 'space', 'owner', 'key', 'version'].map((column) => `memory_documents.${column}`),
]);
/** Made by the database from another column, which is compared. */
const GENERATED = 'memory_documents.search';

describeEachDatabase('rows of memory', (kind) => {
  const test = engineFor(kind, { agents });
  let first = '';
  let second = '';
  beforeAll(async () => {
    first = (await runToRest(test.engine, 'first')).id;
    second = (await runToRest(test.engine, 'second')).id;
  });

  const saidOf = async (trx: Knex.Transaction) => {
    const found = new Set<string>();
    for (const id of [first, second])
      for (const { table, column } of (await verify(trx, id)).rows) found.add(`verify ${table}.${column}`);
    const read = await MEMORY_EVIDENCE.proven(trx, PLACE, ['plan']).catch((error: { code: string }) => error.code);
    if (read === 'row_changed') found.add('refused');
    else if ((read as readonly unknown[]).length === 0) found.add('not there');
    return found;
  };
  const rows = async (knex: Knex, table: string): Promise<readonly { ctid: string }[]> =>
    (await knex.raw(`select ctid::text from holdfast.${table}`)).rows;

  /** What is wrong with what is said after a change of a column. */
  const wrongAfter = async (knex: Knex, one: Awaited<ReturnType<typeof described>>[number], ctid: string) => {
    const { table_name: table, column_name: column, data_type: type } = one;
    const name = `${table}.${column}`;
    if (name === GENERATED) return [];
    const bytes = `update holdfast.${table} set "${column}" = "${column}" || 'x'::bytea where ctid = ?::tid`;
    const change = (trx: Knex.Transaction) =>
      type === 'bytea' ? trx.raw(bytes, [ctid]) : changeColumn(trx, { table, column, type, ctid });
    const said = await after(knex, change, saidOf);
    const isRead = table === 'memory_documents' && !said.has('refused') && !said.has('not there');
    const isRow = table === 'memory_writes' || NAMING.has(name);
    return [
      ...([...said].some((found) => found.startsWith('verify')) ? [] : [`verify: ${name}`]),
      ...(isRead ? [`read: ${name}`] : []),
      ...(isRow || said.has(`verify ${name}`) ? [] : [`named: ${name} ${[...said]}`]),
    ];
  };

  it('agree with the logs of the runs that wrote them', async () => {
    const ended = await dataOf(test.engine, first, 'call.finished');
    const notes = ended.map(({ outcome }) => (outcome as { memory?: { writes?: object } }).memory?.writes);
    expect(notes).toEqual([undefined, expect.anything(), undefined, expect.anything()]);
    expect(notes[1]).toEqual({
      call: `${first}:w1`,
      count: 1,
      digest: expect.stringMatching(/^sha256:/),
      entered: true,
    });
    for (const id of [first, second])
      expect(await test.engine.verifyRun(id, ADMIN)).toMatchObject({ ok: true, rows: [] });
    const name = { space: 'facts', owner: '', key: 'plan' };
    expect(await test.engine.getMemory(name, { after: 0, limit: 10 }, ADMIN)).toMatchObject({
      integrity: [],
      version: 3,
    });
    expect((await test.engine.listMemory('facts', { limit: 10 }, ADMIN)).items[0]).toMatchObject({ integrity: [] });
  });

  it('are named when any column of any of them was changed, and not read', { timeout: 120_000 }, async () => {
    await test.between(async (knex) => {
      const wrong: string[] = [];
      for (const one of await described(knex, TABLES))
        for (const { ctid } of await rows(knex, one.table_name)) wrong.push(...(await wrongAfter(knex, one, ctid)));
      expect(wrong).toEqual([]);
    });
  });

  it('are missed when they were removed, and known when they were added', async () => {
    await test.between(async (knex) => {
      const remove = (sql: string) => after(knex, (trx) => trx.raw(sql), saidOf);
      for (const version of [1, 2, 3]) {
        const said = await remove(`delete from holdfast.memory_changes where version = ${version}`);
        expect([...said].filter((one) => one.startsWith('verify')).length, `${version}`).toBeGreaterThan(0);
      }
      expect([...(await remove('delete from holdfast.memory_writes where version = 3'))]).toContain('refused');
      const added = await remove(`insert into holdfast.memory_changes
        select tenant, space, owner, key, 4, 3, ops, frontiers, run_id, call_id, event, agent, actors, derived_from, labels, at
          from holdfast.memory_changes where version = 3`);
      expect([...added]).toContain('verify memory_changes.null');
      const forged =
        await remove(`insert into holdfast.memory_writes (call_key, n, run_id, version, document, change, state)
        select call_key, 1, run_id, 4, document, change, state from holdfast.memory_writes where version = 3`);
      expect([...forged]).toContain('verify memory_writes.null');
    });
  });

  it('fail the call of a run that would read or change the document', async () => {
    const value = await test.between(async (knex) => {
      const [row] = await knex('holdfast.memory_documents').where({ key: 'plan' });
      await knex('holdfast.memory_documents').where({ key: 'plan' }).update({ labels: '[]' });
      return row.labels as string;
    });
    expect(value).toBe('["untrusted:web"]');
    for (const name of ['reads', 'writes']) {
      const run = await runToRest(test.engine, name);
      const [outcome] = (await dataOf(test.engine, run.id, 'call.finished')).map((data) => data['outcome']);
      expect(outcome, name).toMatchObject({ type: 'error', code: 'row_changed' });
      expect((outcome as { message: string }).message).toContain('column labels');
    }
    const name = { space: 'facts', owner: '', key: 'plan' };
    const shown = await test.engine.getMemory(name, { after: 0, limit: 10 }, ADMIN);
    expect(shown.integrity).toEqual([
      { table: 'memory_documents', row: 'facts/plan', column: 'labels', what: expect.any(String) },
    ]);
    expect((await test.engine.listMemory('facts', { limit: 10 }, ADMIN)).items[0]?.integrity).toHaveLength(1);
    await test.between((knex) => knex('holdfast.memory_documents').where({ key: 'plan' }).update({ labels: value }));
    expect((await test.engine.verifyRun(second, ADMIN)).ok).toBe(true);
  });

  it('are what the log says also where a call waited, or took too long', async () => {
    const run = await runToRest(test.engine, 'waits');
    expect((await test.engine.verifyRun(run.id, ADMIN)).rows).toEqual([]);
    await test.engine.decide(run.interruptions[0] ?? '', { verdict: 'answer', value: 'this' }, BOB);
    expect((await restOf(test.engine, run.id)).status).toBe('completed');
    const asked = { space: 'facts', owner: '', key: 'asked' };
    expect(await test.engine.getMemory(asked, { after: 0, limit: 10 }, ADMIN)).toMatchObject({
      value: { before: 1, after: 1 },
      ...{ version: 2, integrity: [] },
    });
    const slowed = await runToRest(test.engine, 'slows');
    for (const id of [run.id, slowed.id])
      expect(await test.engine.verifyRun(id, ADMIN)).toMatchObject({ ok: true, rows: [] });
    expect(await dataOf(test.engine, slowed.id, 'call.finished')).toMatchObject([
      { outcome: { type: 'error', code: 'tool_timeout', memory: { writes: { count: 1 } } } },
    ]);
  });

  it('are made again by an erasure, and are compared with what is left', { timeout: 60_000 }, async () => {
    await test.engine.eraseRun(second, { reason: 'asked for' }, ADMIN);
    for (const id of [first, second])
      expect(await test.engine.verifyRun(id, ADMIN)).toMatchObject({ ok: true, rows: [] });
    const read = await runToRest(test.engine, 'reads');
    expect(await dataOf(test.engine, read.id, 'call.finished')).toMatchObject([
      { outcome: { type: 'output', output: { documents: [{ value: { text: 'Ask first.', steps: ['a', 'b'] } }] } } },
    ]);
    await test.between(async (knex) => {
      const said = (sql: string) => after(knex, (trx) => trx.raw(sql), saidOf);
      const document = `update holdfast.memory_documents set`;
      const where = `where key = 'plan'`;
      for (const column of ['value', 'labels', 'words'])
        expect([...(await said(`${document} ${column} = replace(${column}, 't', 'd') ${where}`))], column).toEqual([
          `verify memory_documents.${column}`,
          'refused',
        ]);
      expect([...(await said(`${document} remade = 'run_none' ${where}`))]).toContain('refused');
      expect([...(await said(`${document} remade = null ${where}`))]).toContain('refused');
      const frontiers = `update holdfast.memory_changes set frontiers = '[]' where version = 2 and key = 'plan'`;
      expect([...(await said(frontiers))]).toEqual(['verify memory_changes.frontiers', 'refused']);
    });
    const written = await runToRest(test.engine, 'writes');
    for (const id of [first, written.id])
      expect(await test.engine.verifyRun(id, ADMIN)).toMatchObject({ ok: true, rows: [] });
  });
});
