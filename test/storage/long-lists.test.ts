import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Database } from '../../src/storage/database/database.js';
import { listInterruptionRows } from '../../src/storage/interruptions/interruptions.js';
import { searchRunRows } from '../../src/storage/interruptions/run-search.js';
import { countByStatus } from '../../src/storage/runs/run-counts.js';
import { cursorAfter, encodeCursor, listRunRows } from '../../src/storage/runs/run-list.js';
import { insertRun } from '../../src/storage/runs/runs.js';
import { describeEachDatabase } from '../harness/database.js';
import { explained, rowsReadBy } from '../harness/explain.js';
import { openLeftDatabase } from './database/left-database.js';

const ROWS = 20_000;
const LIMIT = 50;
/** A page reads its rows, the one behind them, and those that its filter passes over. */
const READ_MOST = 1000;
const ALL = ['runs', 'charges', 'interruptions'];

interface Asked {
  readonly sql: string;
  readonly bindings: readonly unknown[];
}

describeEachDatabase('a page of a long list', (kind) => {
  let database: Database;
  let close: () => Promise<void>;
  beforeAll(async () => {
    ({ database, close } = await openLeftDatabase(kind));
    await insertRun(database.knex, {
      ...{ id: 'run_1', tenant: 'default', agent: 'any', agentVersion: '1', agentHash: '', priority: 1000 },
      ...{ input: 'go', grants: [], metadata: {} },
      limits: { maxTurns: 1, maxTotalTokens: null, maxDurationMs: null },
    });
    const statuses = `(array['completed', 'completed', 'failed', 'paused'])[1 + n % 4]`;
    await database.knex.raw(
      `insert into holdfast.runs select made.* from holdfast.runs r, generate_series(1, ${ROWS}) n,
              json_populate_record(r, json_build_object('id', 'run_of_' || n, 'agent', 'agent' || n % 19, 'status', ${statuses},
                'created_at', now() - n * interval '1 minute', 'completed_at', now() - n * interval '1 minute' + n % 997 * interval '1 second',
                'cost_nano_usd', n % 991 * 1000, 'metadata', case when n % 50 = 0 then '{"tags":["monday"]}' when n % 2 = 0 then '{"tags":["usual"]}' else '{}' end)) made`,
    );
    await database.knex.raw(
      `insert into holdfast.charges (run_id, turn, execution, attempt, agent, model, state)
       select 'run_of_' || n, turn, 'e', 1, 'any', case when n % 1000 = 0 then 'rare' else 'usual' end, 'final'
         from generate_series(1, ${ROWS}) n, generate_series(1, 2) turn`,
    );
    await database.knex.raw(
      `insert into holdfast.interruptions (id, run_id, agent, segment, kind, status, tool, arguments, reason, reason_text,
                                           verdicts, digest, requested_at)
       select 'int_' || n, 'run_of_' || n, 'agent' || n % 20, 1, 'approval', case when n > ${ROWS} - 100 then 'pending' else 'approved' end,
              'tool' || n % 20, '{}', 'tool_rule', '', '["approve"]', '', now() - (${ROWS} - n) * interval '1 minute'
         from generate_series(1, ${ROWS}) n`,
    );
    await database.knex.raw(
      `update holdfast.interruptions set kind = 'question' where status = 'pending' and split_part(id, '_', 2)::int % 10 = 3`,
    );
    await database.knex.raw('analyze');
  }, 120_000);
  afterAll(() => close());

  /** How many rows of some tables each statement reads that `ask` sends, by the plan that the database makes for it. */
  async function rowsReadByEach(tables: readonly string[], ask: () => Promise<unknown>): Promise<readonly number[]> {
    const asked: Asked[] = [];
    const hear = (query: Asked) => void asked.push(query);
    database.knex.on('query', hear);
    await ask();
    database.knex.removeListener('query', hear);
    const read: number[] = [];
    for (const { sql, bindings } of asked) {
      const nodes = await explained(database, sql, bindings);
      const ofTables = nodes.filter((node) => tables.includes(node['Relation Name'] ?? ''));
      read.push(ofTables.reduce((sum, node) => sum + rowsReadBy(node), 0));
    }
    return read;
  }

  /** Those of the first statement. */
  async function rowsRead(tables: readonly string[], ask: () => Promise<unknown>): Promise<number> {
    const [first] = await rowsReadByEach(tables, ask);
    if (first === undefined) throw new Error('nothing was asked');
    return first;
  }

  const cursor = encodeCursor(new Date(Date.now() - 5 * 86_400_000).toISOString(), 'int_1');
  const ofInterruptions: {
    readonly [name: string]: Omit<Parameters<typeof listInterruptionRows>[1], 'tenant' | 'limit'>;
  } = {
    all: {},
    approved: { status: 'approved' },
    pending: { status: 'pending' },
    'of an agent': { agent: 'agent7' },
    'of an unknown agent': { agent: 'unknown' },
    'of a tool': { tool: 'tool7' },
    'of an agent, approved': { agent: 'agent7', status: 'approved' },
    'of an agent, pending': { agent: 'agent7', status: 'pending' },
    'newest first': { order: 'newest' },
    'of an agent, newest first': { order: 'newest', agent: 'agent7' },
    'by deadline': { order: 'deadline', status: 'pending' },
    'by deadline, of any status': { order: 'deadline' },
    'of a kind': { kind: 'approval' },
    'the next page': { cursor },
    'the next page of an agent': { cursor, agent: 'agent7' },
  };
  it.each(Object.entries(ofInterruptions))('of interruptions reads what it shows: %s', async (_name, filter) => {
    const page = () => listInterruptionRows(database.knex, { tenant: 'default', limit: LIMIT, ...filter });
    expect(await rowsRead(['interruptions'], page)).toBeLessThan(READ_MOST);
  });

  const ofRuns: { readonly [name: string]: Omit<Parameters<typeof listRunRows>[1], 'tenant' | 'limit'> } = {
    all: {},
    completed: { status: 'completed' },
    queued: { status: 'queued' },
    'of an agent': { agent: 'agent7' },
    'of an unknown agent': { agent: 'unknown' },
    'of an agent, failed': { agent: 'agent7', status: 'failed' },
    'of an unknown session': { session: 'unknown' },
    'with an error': { error: 'limit_turns' },
    'of a day': { from: new Date(Date.now() - 3 * 86_400_000), to: new Date(Date.now() - 2 * 86_400_000) },
    'the next page': { cursor },
  };
  it.each(Object.entries(ofRuns))('of runs reads what it shows: %s', async (_name, filter) => {
    const page = () => listRunRows(database.knex, { tenant: 'default', limit: LIMIT, ...filter });
    expect(await rowsRead(['runs'], page)).toBeLessThan(READ_MOST);
  });

  const dear = Buffer.from(JSON.stringify(['cost', '500000', 'run_of_9'])).toString('base64url');
  const inShort: { readonly [name: string]: Partial<Parameters<typeof searchRunRows>[1] & { cursor: string }> } = {
    'of a task': { task: 'task_1' },
    'that asked the usual model': { model: 'usual' },
    'that asked a rare model': { model: 'rare' },
    'that asked an unknown model': { model: 'unknown' },
    'that wait for an approval': { waiting: 'approval' },
    'that wait for a question': { waiting: 'question' },
    'that wait for what none waits for': { waiting: 'timer' },
  };
  it.each(Object.entries(inShort))('of runs in short reads what it shows: %s', async (_name, filter) => {
    const page = () =>
      searchRunRows(database.knex, { tenant: 'default', ...filter }, { limit: LIMIT, order: 'newest' });
    expect(await rowsRead(ALL, page)).toBeLessThan(READ_MOST);
  });

  it('of runs with a tag that many have reads the newest runs, and not all that have it', async () => {
    const tagged = { tenant: 'default', tag: 'usual' };
    const whole = await rowsReadByEach(ALL, () => listRunRows(database.knex, { ...tagged, limit: LIMIT }));
    const short = await rowsReadByEach(ALL, () =>
      searchRunRows(database.knex, tagged, { limit: LIMIT, order: 'newest' }),
    );
    for (const [edge, page, ...more] of [whole, short]) {
      expect(edge).toBeLessThan(5100);
      expect(page).toBeLessThan(5100);
      expect(more).toEqual([]);
    }
  });

  it('of runs with a tag that few have, or none, asks the index of tags', async () => {
    for (const tag of ['monday', 'unknown']) {
      const page = () => listRunRows(database.knex, { tenant: 'default', tag, limit: 200 });
      const [, , last] = await rowsReadByEach(ALL, page);
      expect(last).toBeLessThan(READ_MOST);
    }
  });

  it('gives each run with a tag once, the newest first, page by page', async () => {
    for (const [tag, apart] of [
      ['monday', 50],
      ['usual', 2],
    ] as const) {
      const ids: string[] = [];
      let cursor: string | undefined;
      do {
        const page = await listRunRows(database.knex, {
          ...{ tenant: 'default', tag, limit: 90 },
          ...(cursor === undefined ? {} : { cursor }),
        });
        ids.push(...page.rows.map(({ id }) => id));
        cursor = cursorAfter(page) ?? undefined;
      } while (cursor !== undefined && ids.length < 3000);
      const all = Array.from({ length: ROWS }, (_, at) => at + 1).filter(
        (n) => n % apart === 0 && (tag === 'monday' || n % 50 !== 0),
      );
      expect(ids).toEqual(all.slice(0, ids.length).map((n) => `run_of_${n}`));
      expect(ids.length).toBe(tag === 'monday' ? ROWS / 50 : 3060);
    }
  });

  const inOrder: { readonly [name: string]: Parameters<typeof searchRunRows>[2] & { readonly agent?: string } } = {
    'by cost': { limit: LIMIT, order: 'cost' },
    'by cost, the next page': { limit: LIMIT, order: 'cost', cursor: dear },
    'by duration': { limit: LIMIT, order: 'duration' },
  };
  it.each(Object.entries(inOrder))('of runs in short reads what it shows: %s', async (_name, search) => {
    for (const filter of [{}, { status: 'failed' as const }]) {
      const page = () => searchRunRows(database.knex, { tenant: 'default', ...filter }, search);
      expect(await rowsRead(ALL, page)).toBeLessThan(READ_MOST);
    }
  });

  it('counts of runs of an agent read what they count', async () => {
    // Each status of this agent is counted to the last of its rows.
    const counts = () => countByStatus(database.knex, { tenant: 'default', agent: 'agent7' });
    expect(await rowsRead(['runs'], counts)).toBeLessThan(2 * (ROWS / 19));
  });

  it('of short runs of a status by duration reads what it shows', async () => {
    await database.knex.raw(`update holdfast.runs set completed_at = created_at where status = 'failed'`);
    await database.knex.raw('analyze holdfast.runs');
    const filter = { tenant: 'default', status: 'failed' as const };
    const page = () => searchRunRows(database.knex, filter, { limit: LIMIT, order: 'duration' });
    expect(await rowsRead(ALL, page)).toBeLessThan(READ_MOST);
  });

  const measures = {
    cost: '(cost_nano_usd + child_cost_nano_usd)',
    duration: 'extract(epoch from completed_at - created_at)',
  };
  it.each(['cost', 'duration'] as const)('of runs by %s has each of them once, page after page', async (order) => {
    const seen: string[] = [];
    let cursor: string | null = null;
    do {
      const search = { limit: 200, order, ...(cursor === null ? {} : { cursor }) };
      const found = await searchRunRows(database.knex, { tenant: 'default', agent: 'agent7' }, search);
      seen.push(...found.rows.map(({ id }) => id));
      cursor = found.next;
    } while (cursor !== null);
    const wanted: string[] = await database
      .knex('holdfast.runs')
      .where({ agent: 'agent7' })
      .modify((query) => order === 'cost' && query.whereRaw(`${measures.cost} > 0`))
      .orderByRaw(`${measures[order]} desc, id desc`)
      .pluck('id');
    expect(seen.length).toBeGreaterThan(1000);
    expect(seen).toEqual(wanted);
  });
});
