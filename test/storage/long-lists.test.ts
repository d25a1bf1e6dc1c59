import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Database } from '../../src/storage/database/database.js';
import { listInterruptionRows } from '../../src/storage/interruptions/interruptions.js';
import { encodeCursor, listRunRows } from '../../src/storage/runs/run-list.js';
import { insertRun } from '../../src/storage/runs/runs.js';
import { describeEachDatabase } from '../harness/database.js';
import { explained, rowsReadBy } from '../harness/explain.js';
import { openLeftDatabase } from './database/left-database.js';

const ROWS = 20_000;
const LIMIT = 50;
/** A page reads its rows, the one behind them, and those that its filter passes over. */
const READ_MOST = 1000;

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
                'created_at', now() - n * interval '1 minute')) made`,
    );
    await database.knex.raw(
      `insert into holdfast.interruptions (id, run_id, agent, segment, kind, status, tool, arguments, reason, reason_text,
                                           verdicts, digest, requested_at)
       select 'int_' || n, 'run_1', 'agent' || n % 20, 1, 'approval', case when n > ${ROWS} - 100 then 'pending' else 'approved' end,
              'tool' || n % 20, '{}', 'tool_rule', '', '["approve"]', '', now() - (${ROWS} - n) * interval '1 minute'
         from generate_series(1, ${ROWS}) n`,
    );
    await database.knex.raw('analyze');
  }, 120_000);
  afterAll(() => close());

  /** How many rows of a table the first statement reads that `ask` sends, by the plan that the database makes for it. */
  async function rowsRead(table: string, ask: () => Promise<unknown>): Promise<number> {
    const asked: Asked[] = [];
    const hear = (query: Asked) => void asked.push(query);
    database.knex.on('query', hear);
    await ask();
    database.knex.removeListener('query', hear);
    const [statement] = asked;
    if (statement === undefined) throw new Error('nothing was asked');
    const nodes = await explained(database, statement.sql, statement.bindings);
    return nodes.filter((node) => node['Relation Name'] === table).reduce((sum, node) => sum + rowsReadBy(node), 0);
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
    'of a kind': { kind: 'approval' },
    'the next page': { cursor },
    'the next page of an agent': { cursor, agent: 'agent7' },
  };
  it.each(Object.entries(ofInterruptions))('of interruptions reads what it shows: %s', async (_name, filter) => {
    const page = () => listInterruptionRows(database.knex, { tenant: 'default', limit: LIMIT, ...filter });
    expect(await rowsRead('interruptions', page)).toBeLessThan(READ_MOST);
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
    expect(await rowsRead('runs', page)).toBeLessThan(READ_MOST);
  });
});
