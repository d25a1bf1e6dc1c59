import { Agent } from '@openai/agents';
import type { Knex } from 'knex';
import { expect, it } from 'vitest';
import { problem } from '../../src/core/errors/problem.js';
import type { HoldfastConfig } from '../../src/engine/agents/define.js';
import { createEngine } from '../../src/engine/create-engine.js';
import type { EngineConfig } from '../../src/engine/engine-config.js';
import { GUARDED_ROUTES } from '../../src/http/routes.js';
import { createHttpServer } from '../../src/http/server.js';
import { defineAgent, memorySpace, memoryTools } from '../../src/index.js';
import { openDatabase } from '../../src/storage/database/open-database.js';
import {
  type DatabaseKind,
  describeEachDatabase,
  describePostgresSlowly,
  type TestDatabase,
} from '../harness/database.js';
import { call, say, scripted } from '../harness/script.js';
import { AGENTS, bearer, collectingLog, openDoor, options } from './door.js';
import { type Guarded, PLANNED, pathOf, type Samples, samplesOf } from './samples.js';

/** PostgreSQL has times that no `Date` has. One in a row ends no request that does not ask for this row alone. */

const TIMES = ['infinity', '-infinity', '0001-01-01 00:00:00+00 BC', '294276-12-31 00:00:00+00'];

const notes = memorySpace({ name: 'notes', scope: 'tenant' });
const remember = call('remember', { space: 'notes', key: 'one', content: '{"n":1}' }, 'w1');
const agents: HoldfastConfig['agents'] = [
  ...AGENTS,
  PLANNED,
  defineAgent({
    agent: new Agent({
      ...{ name: 'writer', model: scripted([[remember], [say('done')]]), tools: [...memoryTools(notes)] },
    }),
    grants: ['tool:call:*', 'memory:read:*', 'memory:write:*'],
    memory: [notes],
  }),
];
const nowhere = { place: 'the test', read: async () => 'http://127.0.0.1:9/' };
const config: EngineConfig = {
  agents,
  webhooks: [{ name: 'ends', url: nowhere, kinds: ['run.ended'] }],
  alerts: {
    rules: [
      {
        ...{ name: 'no-rule', about: 'Half fail.', measure: 'passRate', minTasks: 1, everySeconds: 1 },
        when: { type: 'threshold', below: 0.5 },
      },
    ],
  },
  evolution: { agents: ['echo'] },
};

/** Routes that change nothing, or the same again. */
const READING: readonly string[] = ['verifyRun', 'repairRun', 'verifyLog', 'checkApproval', 'cancelRun'];
const ROUTES = GUARDED_ROUTES.filter(
  ({ method, operationId }) => (method === 'GET' && operationId !== 'getOpenApi') || READING.includes(operationId),
);
/** Those of one row, which may say that it cannot be read. */
const OF_ONE = /^(get|read|diff|listDatasetTasks|verifyRun|repairRun|checkApproval|cancelRun)/;

/** A database with rows of every kind that no engine works on any more. */
async function filled(kind: DatabaseKind): Promise<{ readonly database: TestDatabase; readonly samples: Samples }> {
  const { agents: _, ...more } = config;
  const door = await openDoor(kind, agents, more);
  const samples = await samplesOf(door);
  const started = await door.ask('otto', 'POST', '/api/v1/runs', { agent: 'writer', input: 'go' });
  await door.ask('otto', 'GET', `/api/v1/runs/${Object(started.json).id}?wait=20`);
  await door.ask('otto', 'POST', '/api/v1/events/paid', { payload: 1 });
  const { definitionHash: base } = await door.engine.getAgent('echo', {
    actor: 'ada',
    role: 'admin',
    tenant: 'default',
  });
  await door.http.close(0);
  await door.engine.stop({ graceMs: 1000 });
  const opened = await openDatabase(door.database.options);
  await opened.knex('holdfast.agent_versions').insert({
    ...{ id: 'old', agent: 'echo', base_hash: base, definition_hash: `${base.slice(0, -3)}old`, version: '1+old' },
    ...{ patch: '[]', status: 'rolled_back', applied_at: new Date(), ended_at: new Date() },
  });
  await opened.close();
  return { database: door.database, samples };
}

/** What the routes answer of a server over the database that does no work: what is wrong of it. */
async function walker({ options: of }: TestDatabase, { samples }: Samples) {
  const { log } = collectingLog();
  const engine = await createEngine({ ...config, ...of, role: 'api', log });
  const http = await createHttpServer(engine, options(log));
  const wrongOf = async ({ method, path, operationId }: (typeof ROUTES)[number]): Promise<string[]> => {
    const sample = samples[operationId as Guarded];
    const body = method === 'POST' ? { body: JSON.stringify(sample.body ?? {}) } : {};
    const headers = { ...bearer('adam'), ...(method === 'POST' && { 'Content-Type': 'application/json' }) };
    const answer = await fetch(`${http.url}${pathOf(path, sample)}`, { method, headers, ...body });
    const text = await answer.text();
    if (answer.status < 500) return [];
    const { code, detail } = problem.parse(JSON.parse(text));
    const isNamed = code === 'row_changed' && detail.includes(': it is no time');
    return isNamed && OF_ONE.test(operationId) ? [] : [`${operationId}: ${code} ${detail}`];
  };
  return {
    walk: async (): Promise<string[]> => (await Promise.all(ROUTES.map(wrongOf))).flat(),
    close: async () => {
      await http.close(0);
      await engine.stop({ graceMs: 0 });
    },
  };
}

interface Column {
  readonly table: string;
  readonly column: string;
  readonly keys: readonly string[];
}

async function timeColumns(knex: Knex): Promise<readonly Column[]> {
  const { rows }: { rows: Column[] } = await knex.raw(
    `select table_name as "table", column_name as "column",
            array(select a.attname::text from pg_index i join pg_attribute a on a.attrelid = i.indrelid and a.attnum = any(i.indkey)
                   where i.indrelid = format('holdfast.%I', table_name)::regclass and i.indisprimary) as keys
       from information_schema.columns join information_schema.tables using (table_schema, table_name)
      where table_schema = 'holdfast' and table_type = 'BASE TABLE' and data_type = 'timestamp with time zone'
      order by 1, 2`,
  );
  return rows;
}

const change = (knex: Knex, { table, column }: Column, time: string) =>
  knex.raw('update ?? set ?? = ?::timestamptz', [`holdfast.${table}`, column, time]);

describeEachDatabase('times that are none, in every row at once', (kind) => {
  it('end no request for something else', async () => {
    const { database, samples } = await filled(kind);
    const opened = await openDatabase(database.options);
    for (const one of await timeColumns(opened.knex)) await change(opened.knex, one, 'infinity');
    await opened.close();
    const { walk, close: stop } = await walker(database, samples);
    expect(await walk()).toEqual([]);
    await stop();
    await database.drop();
  });
});

describePostgresSlowly('a time that is none', () => {
  it('in one column ends no request for something else', { timeout: 600_000 }, async () => {
    const { database, samples } = await filled('postgres');
    const { walk, close: stop } = await walker(database, samples);
    const opened = await openDatabase(database.options);
    const { knex } = opened;
    const columns = await timeColumns(knex);
    expect(columns.length).toBeGreaterThan(80);
    await knex.raw('create schema saved');
    for (const table of new Set(columns.map((one) => one.table)))
      await knex.raw('create table ?? as table ??', [`saved.${table}`, `holdfast.${table}`]);
    expect(await walk()).toEqual([]);
    const wrong: string[] = [];
    for (const one of columns) {
      const { table, column, keys } = one;
      const found = await knex(`saved.${table}`).first(knex.raw('1'));
      if (found === undefined || keys.length === 0 || keys.includes(column)) continue;
      for (const time of TIMES) {
        await change(knex, one, time);
        wrong.push(...(await walk()).map((what) => `${table}.${column} = ${time}: ${what}`));
      }
      const same = keys.map((key) => `t."${key}" = s."${key}"`).join(' and ');
      await knex.raw(`update ?? t set ?? = s.?? from ?? s where ${same}`, [
        ...[`holdfast.${table}`, column, column, `saved.${table}`],
      ]);
    }
    expect(wrong).toEqual([]);
    await Promise.all([stop(), opened.close()]);
    await database.drop();
  });
});
