import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Agent, Usage } from '@openai/agents';
import type { Knex } from 'knex';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { z } from 'zod';
import { defineAgent, defineTool, functionModel } from '../../../src/index.js';
import { shownInterruption, shownRun } from '../../../src/storage/integrity/legible-rows.js';
import { falseInterruptions, shownOf } from '../../../src/storage/integrity/shown-rows.js';
import { decisionsOf } from '../../../src/storage/interruptions/interruptions.js';
import { findRun } from '../../../src/storage/runs/runs.js';
import { describeBothDatabasesSlowly } from '../../harness/database.js';
import { ADMIN, BOB, openTestEngine, restOf, type TestEngine } from '../../harness/engine.js';
import { call, type Output, outputAfter, say } from '../../harness/script.js';
import { after, changeColumn, described, rowsOf, verify } from './changed-rows.js';
import { COLUMN_CLASSES } from './column-classes.js';

/**
 * Every column of every table has a class. Of those that are of a run, each is changed by SQL in a run that is over, one that waits and
 * one that works: what is compared is found, by `verify` and by the code that is shown it, and no change breaks a view.
 */

const GOLDEN = join(import.meta.dirname, '../../golden/schema.json');
const schema = z.record(z.string(), z.object({ columns: z.record(z.string(), z.string()) }));

const sign = defineTool({
  ...{ name: 'sign', description: 'Signs.', effect: 'unsafe', approval: true, approvals: 2, separateRequester: false },
  input: z.object({ n: z.number() }),
  output: z.string(),
  execute: () => 'signed',
});
const pay = defineTool({
  ...{ name: 'pay', description: 'Pays.', effect: 'unsafe', approval: true },
  input: z.object({ n: z.number() }),
  output: z.string(),
  execute: () => 'paid',
});
/** Never ends by itself: its run is at work when its engine stops. */
const hold = defineTool({
  ...{ name: 'hold', description: 'Holds.', effect: 'pure' },
  input: z.object({}),
  output: z.string(),
  execute: (_, { signal }) =>
    new Promise<string>((_resolve, reject) => {
      signal.addEventListener('abort', () => reject(new Error('aborted')));
    }),
});
const usage = new Usage({ inputTokens: 1000, outputTokens: 100, totalTokens: 1100 });
const BEGIN: readonly Output[] = [[call('sign', { n: 1 }, 'c1')], [call('pay', { n: 2 }, 'c2')]];
const agentOf = (name: string, last: Output) =>
  defineAgent({
    agent: new Agent({
      name,
      tools: [sign, pay, hold],
      model: functionModel(name, ({ input }) => ({ output: outputAfter([...BEGIN, last], input), usage })),
    }),
    grants: ['tool:call:*'],
  });
const KINDS = { over: say('done'), waits: call('sign', { n: 3 }, 'c3'), works: call('hold', {}, 'c3') } as const;
type Kind = keyof typeof KINDS;
const NAMES = ['over', 'waits', 'works'] as const satisfies readonly Kind[];
const PRICE = { inputPerMillion: '1', outputPerMillion: '10' };
const config = {
  agents: NAMES.map((kind) => agentOf(kind, [KINDS[kind]])),
  prices: Object.fromEntries(NAMES.map((kind) => [`object/${kind}`, PRICE])),
};

const ROWS_EACH = 3;
/** Tables whose rows are of one run and say what it did. */
const OF_RUNS = [
  ...(['runs', 'agents', 'interruptions', 'decisions', 'standing_decisions', 'calls', 'charges'] as const),
  ...(['run_heads', 'run_keys', 'events', 'snapshots'] as const),
];
/** Under another name a row is of no run any more, or of another tenant: then nothing of it is shown. */
const NAMING = /\.(id|run_id|tenant)$/;

/**
 * What may differ while a run works, or what its log says at its end alone: a call that is not over may have its row before the log
 * knows it.
 */
const NOT_IN: { readonly [kind in Kind]: ReadonlySet<string> } = {
  over: new Set(),
  waits: new Set(['runs.cost_nano_usd', 'runs.updated_at', 'calls.call_id']),
  works: new Set([
    ...['runs.cost_nano_usd', 'runs.updated_at', 'runs.turns', 'runs.input_tokens', 'runs.output_tokens'],
    ...['runs.total_tokens', 'calls.call_id'],
  ]),
};

/** Columns of runs and interruptions that views show, as they are named in rows. */
const SHOWN: { readonly [table: string]: readonly string[] } = {
  runs: [
    ...['parent_run_id', 'agent', 'agent_version', 'status', 'input', 'output', 'error', 'segment', 'turns'],
    ...['input_tokens', 'output_tokens', 'total_tokens', 'limits', 'metadata', 'forked_from_run_id', 'forked_from_seq'],
    ...['session_id', 'created_at', 'completed_at', 'erased_at'],
  ],
  interruptions: [
    ...['agent', 'kind', 'status', 'call_id', 'tool', 'arguments', 'capabilities', 'reason', 'reason_text', 'wait'],
    ...['verdicts', 'digest', 'required_approvals', 'separate_requester', 'requested_at', 'expires_at'],
  ],
  decisions: ['verdict', 'actor', 'message', 'value', 'edit', 'always', 'decided_at'],
};

it('every column of every table has a class', () => {
  const golden = schema.parse(JSON.parse(readFileSync(GOLDEN, 'utf8')));
  const columns = Object.entries(golden).map(([table, of]) => [table, Object.keys(of.columns).sort()]);
  const classed = Object.entries(COLUMN_CLASSES).map(([table, of]) => [table, Object.keys(of).sort()]);
  expect(Object.fromEntries(classed)).toEqual(Object.fromEntries(columns));
  const unsaid = Object.entries(COLUMN_CLASSES).flatMap(([table, of]) =>
    Object.entries(of).flatMap(([column, is]) => (is === undefined ? [`${table}.${column}`] : [])),
  );
  expect(unsaid).toEqual([]);
});

describeBothDatabasesSlowly('a column that someone has changed', (database) => {
  let t: TestEngine;
  const ids = new Map<Kind, string>();
  const idOf = (kind: Kind): string => ids.get(kind) ?? '';

  beforeAll(async () => {
    t = await openTestEngine(database, config);
    for (const kind of NAMES) {
      const { id } = await t.engine.startRun({ agent: kind, input: 'go' }, ADMIN);
      ids.set(kind, id);
      const ask = async () => (await restOf(t.engine, id)).interruptions[0] ?? '';
      const signing = await ask();
      const edited = { verdict: 'approve', arguments: { n: 4 } } as const;
      await t.engine.decide(signing, { ...edited, message: 'Fine.' }, { ...BOB, actor: 'carol' });
      await t.engine.decide(signing, edited, BOB);
      await t.engine.decide(await ask(), { verdict: 'approve', always: true }, BOB);
    }
    await restOf(t.engine, idOf('over'));
    const { interruptions } = await restOf(t.engine, idOf('waits'));
    await t.engine.decide(interruptions[0] ?? '', { verdict: 'approve' }, { ...BOB, actor: 'carol' });
    const logged = async () => (await t.engine.listEvents(idOf('works'), { after: 0, limit: 200 }, ADMIN)).items;
    while (
      !(await logged()).some(({ kind, data }) => kind === 'model.responded' && (data as { turn: number }).turn === 3)
    );
  }, 120_000);
  afterAll(() => t.close());

  /** What is said of a run: by `verify`, and to the one that is shown the run and what it has asked for. */
  async function saidOf(trx: Knex.Transaction, id: string): Promise<ReadonlySet<string>> {
    const report = await verify(trx, id);
    const found = new Set(report.rows.map(({ table, column }) => `verify ${table}.${column}`));
    if (!report.ok) found.add('verify');
    const row = await findRun(trx, 'default', id);
    if (row === undefined) return found.add('shown');
    const { pending = [], integrity = [] } = (await shownOf(trx, [row], 'short')).get(id) ?? {};
    for (const one of shownRun(row, pending, integrity).integrity) found.add(`shown ${one.table}.${one.column}`);
    const asked = await trx('holdfast.interruptions').where({ run_id: id });
    const decisions = await decisionsOf(
      trx,
      asked.map((one) => one.id),
    );
    const seen = await falseInterruptions(trx, asked, decisions, 'short');
    for (const one of asked) {
      const view = shownInterruption(one, decisions, { unfit: null, integrity: seen.get(one.id) ?? [] });
      for (const { table, column } of view.integrity) found.add(`shown ${table}.${column}`);
    }
    return found;
  }

  /** What is said after changes of a column, each in another row; null: the run has no such row. */
  async function saidAfterEach(
    knex: Knex,
    id: string,
    { table_name: table, column_name: column, data_type: type }: Awaited<ReturnType<typeof described>>[number],
  ): Promise<ReadonlySet<string> | null> {
    const said = new Set<string>();
    const rows = await rowsOf(knex, table, id);
    for (const { ctid } of rows.slice(0, ROWS_EACH)) {
      const change = (trx: Knex.Transaction) => changeColumn(trx, { table, column, type, ctid });
      for (const one of await after(knex, change, (trx) => saidOf(trx, id))) said.add(one);
    }
    return rows.length === 0 ? null : said;
  }

  /** What is wrong with what is said after changes of a column. */
  async function wrongAbout(
    knex: Knex,
    kind: Kind,
    one: Awaited<ReturnType<typeof described>>[number],
  ): Promise<readonly string[]> {
    const { table_name: table, column_name: column } = one;
    const name = `${table}.${column}`;
    if (NAMING.test(name) || NOT_IN[kind].has(name)) return [];
    const said = await saidAfterEach(knex, idOf(kind), one).catch((error: unknown) => `${error}`);
    if (said === null) return [];
    if (typeof said === 'string') return [`${name} breaks what is shown: ${said}`];
    const is = COLUMN_CLASSES[table]?.[column];
    const isFound = (is === 'compared' || is === 'log') === said.has('verify');
    const isNamed = SHOWN[table]?.includes(column) !== true || said.has(`shown ${name}`);
    return [...(isFound ? [] : [`verify: ${name} (${is})`]), ...(isNamed ? [] : [`shown, and not named: ${name}`])];
  }

  it.each(NAMES)(
    'is found where it is compared, and breaks no view: a run that %s',
    { timeout: 180_000 },
    async (kind) => {
      await t.between(async (knex) => {
        const untouched = await after(
          knex,
          async () => {},
          (trx) => saidOf(trx, idOf(kind)),
        );
        expect([...untouched]).toEqual([]);
        const wrong: string[] = [];
        for (const one of await described(knex, OF_RUNS)) wrong.push(...(await wrongAbout(knex, kind, one)));
        expect(wrong).toEqual([]);
      });
    },
  );

  /**
   * What `verify` does not find: a state is made again from the log, an attempt whose answer was lost may have a charge, and a run that
   * works is ahead of its log.
   */
  const UNFOUND: { readonly [kind in Kind]: readonly string[] } = {
    over: ['snapshots removed'],
    waits: ['charges added as an attempt', 'snapshots removed'],
    works: ['calls added', 'charges added', 'charges added as an attempt', 'snapshots removed'],
  };
  /** Under which names a row is another one. */
  const FORGED: { readonly [table: string]: readonly object[] } = {
    interruptions: [{ id: 'int_forged' }],
    decisions: [{ id: 'dec_forged', vote: 9, actor: 'eve' }],
    standing_decisions: [{ id: 'std_forged' }],
    calls: [{ call_id: 'call_forged' }],
    charges: [{ turn: 900 }, { execution: 'forged' }],
    events: [{ seq: 900, key: 'forged' }],
    snapshots: [{ segment: 900 }],
  };

  it.each(NAMES)('a row that was removed or added is found: in a run that %s', { timeout: 180_000 }, async (kind) => {
    await t.between(async (knex) => {
      const unfound = new Set<string>();
      // Of a run without its row nothing is verified: it is not there.
      for (const table of OF_RUNS.filter((one) => one !== 'runs'))
        for (const { ctid } of await rowsOf(knex, table, idOf(kind))) {
          const changes: [string, string, readonly unknown[]][] = [
            [`${table} removed`, `delete from holdfast.${table} where ctid = ?::tid`, [ctid]],
            ...(FORGED[table] ?? []).map((row): [string, string, readonly unknown[]] => [
              `${table} added${'execution' in row ? ' as an attempt' : ''}`,
              `insert into holdfast.${table}
                select (jsonb_populate_record(one, ?::jsonb)).* from holdfast.${table} one where ctid = ?::tid`,
              [JSON.stringify(row), ctid],
            ]),
          ];
          for (const [name, sql, values] of changes) {
            const change = async (trx: Knex.Transaction) => {
              await trx.raw(`set local session_replication_role = replica`);
              await trx.raw(sql, values as never);
            };
            const said = await after(knex, change, (trx) => saidOf(trx, idOf(kind)));
            if (!said.has('verify')) unfound.add(name);
          }
        }
      expect([...unfound].sort()).toEqual(UNFOUND[kind]);
    });
  });
});
