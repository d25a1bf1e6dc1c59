import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Agent, MCPServerStreamableHttp, Usage } from '@openai/agents';
import type { Knex } from 'knex';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { COPIES, COPY_NAMES, type CopyName } from '../../../src/core/integrity/copied-rows.js';
import type { Column } from '../../../src/core/integrity/copied-table.js';
import type { VerifyReport } from '../../../src/core/log/verify-log.js';
import { defineAgent, functionModel, subAgent } from '../../../src/index.js';
import { ended } from '../../export/exported.js';
import { describeBothDatabasesSlowly } from '../../harness/database.js';
import { ADMIN, openTestEngine, restOf, runToRest, type TestEngine } from '../../harness/engine.js';
import { call, resultsIn, say, scripted } from '../../harness/script.js';
import { serveHttp, testServer } from '../../mcp/server.js';
import { after, changeColumn, described, rowsOf, verify } from './changed-rows.js';
import { config, decideAll } from './every-kind.js';

/** Rows that say again what the log says: the one that changes one is found, and the report names row and column. */

const exportDir = mkdtempSync(join(tmpdir(), 'holdfast-copies-'));
afterAll(() => rmSync(exportDir, { recursive: true, force: true }));

const used = new Usage({ inputTokens: 1000, outputTokens: 100, totalTokens: 1100 });
const clerk = new Agent({
  name: 'clerk',
  model: functionModel('priced', () => ({ output: [say('done')], usage: used })),
});
/** What its answers and those of a run below it cost is known. */
const boss = defineAgent({
  agent: new Agent({
    name: 'boss',
    model: functionModel('boss', ({ input }) => ({
      output: resultsIn(input).length === 0 ? [call('ask_clerk', { input: 'x' })] : [say('done')],
      usage: used,
    })),
    tools: [subAgent({ agent: 'clerk', name: 'ask_clerk' })],
  }),
  grants: ['tool:call:ask_clerk'],
});
const PRICE = { inputPerMillion: '1', outputPerMillion: '10' };
const prices = { 'object/clerk': PRICE, 'object/boss': PRICE };

const RUNS = ['boss', 'approvals', 'edits', 'several', 'standing', 'unknown', 'questions', 'children'];

describeBothDatabasesSlowly('rows that say again what the log says', (kind) => {
  let t: TestEngine;
  let server: Awaited<ReturnType<typeof serveHttp>>;
  const ids = new Map<string, string>();

  beforeAll(async () => {
    server = await serveHttp(() => testServer('', { description: 'Writes.' }));
    const web = new MCPServerStreamableHttp({ name: 'web', url: server.url });
    const model = scripted([[call('read', { path: 'a.txt' }, 'c1')]]);
    const listed = defineAgent({ agent: new Agent({ name: 'listed', model, mcpServers: [web] }) });
    t = await openTestEngine(kind, { ...config, exportDir, prices, agents: [...config.agents, listed, clerk, boss] });
    ids.set('listed', (await runToRest(t.engine, 'listed')).id);
    for (const agent of RUNS) ids.set(agent, (await t.engine.startRun({ agent, input: 'go' }, ADMIN)).id);
    do {
      for (const { id, status } of (await t.engine.listRuns({ limit: 200 }, ADMIN)).items)
        if (status === 'queued' || status === 'running') await restOf(t.engine, id);
      await decideAll(t.engine);
    } while ((await t.engine.listRuns({ limit: 200 }, ADMIN)).items.some(({ completedAt }) => completedAt === null));
    const forked = await t.engine.forkRun(ids.get('standing') ?? '', { at: 12 }, ADMIN);
    ids.set('fork', forked.id);
    do await restOf(t.engine, forked.id);
    while ((await decideAll(t.engine)) > 0);
  }, 120_000);
  afterAll(async () => {
    await t.close();
    await server.close();
  });

  it('every column of every such table is evidence, or says why it is none', async () => {
    const found = await t.between((knex) => described(knex, COPY_NAMES));
    for (const name of COPY_NAMES) {
      const there = found.flatMap((one) => (one.table_name === name ? [one.column_name] : []));
      expect(Object.keys(COPIES[name].columns).sort(), name).toEqual(there.sort());
    }
  });

  it('agree with the logs of runs of every kind', async () => {
    for (const [agent, id] of ids)
      expect(await t.engine.verifyRun(id, ADMIN), agent).toMatchObject({ rows: [], broken: null, ok: true });
    const { items } = await t.engine.verifyRuns({ limit: 200 }, ADMIN);
    expect(items.filter(({ ok }) => !ok)).toEqual([]);
  });

  it('names the row and the column of each that was changed', { timeout: 120_000 }, async () => {
    await t.between(async (knex) => {
      const types = new Map(
        (await described(knex, COPY_NAMES)).map((one) => [`${one.table_name}.${one.column_name}`, one.data_type]),
      );
      const missed: string[] = [];
      for (const name of COPY_NAMES) {
        for (const [column, rule] of Object.entries<Column<never>>(COPIES[name].columns)) {
          if ('because' in rule) continue;
          if (!(await isFound(knex, name, column, types.get(`${name}.${column}`) ?? '')))
            missed.push(`${name}.${column}`);
        }
      }
      expect(missed).toEqual([]);
    });
  });

  it('verify says which row and which column was changed: a prompt, who decided, input, grants', async () => {
    const of = (agent: string) => ids.get(agent) ?? '';
    const changes = [
      [
        'questions',
        'definition of the row .* of agents',
        `agents set definition = replace(definition, 'instructions', 'x')`,
        'name = ?',
      ],
      ['approvals', 'actor of the row dec_.* of decisions', `decisions set actor = 'eve ' || id`, 'run_id = ?'],
      ['edits', 'input of the row run_.* of runs', `runs set input = '"something else"'`, 'id = ?'],
      ['unknown', 'grants of the row run_.* of runs', `runs set grants = '[]'`, 'id = ?'],
    ] as const;
    await t.between(async (knex) => {
      for (const [agent, , change, where] of changes)
        await knex.raw(`update holdfast.${change} where ${where}`, [where === 'name = ?' ? agent : of(agent)]);
    });
    for (const [agent, what] of changes)
      expect((await t.engine.verifyRun(of(agent), ADMIN)).broken, agent).toMatchObject({
        ...{ invariant: 'copied_rows', what: expect.stringMatching(`^${what}: `) },
      });
    expect(await t.engine.verifyRun(of('several'), ADMIN)).toMatchObject({ ok: true });
    // Decisions are in no export; a prompt, the input and what a run was started with are.
    const asked = await t.engine.startExport({ format: 'messages', to: { folder: `changed-${kind}` } }, ADMIN);
    expect((await ended(t.engine, asked)).progress.skipped).toMatchObject({ row_changed: 3 });
  });

  it('names the column of a charge that was changed, and of the sums that are made of it', async () => {
    const [first] = (await t.engine.listRuns({ limit: 200, agent: 'boss' }, ADMIN)).items;
    const id = first?.id ?? '';
    const changes = [
      ['nano_usd', 'nano_usd = nano_usd / 2', ['charges.nano_usd', 'runs.cost_nano_usd']],
      ['input_tokens', 'input_tokens = 1', ['charges.input_tokens']],
      ['model', `model = 'cheap/model'`, ['charges.model']],
      ['state', `state = 'assumed'`, ['charges.state']],
      ['day', `day = '2020-01-01'`, ['charges.day']],
      ['agent', `agent = 'clerk'`, ['charges.agent']],
    ] as const;
    await t.between(async (knex) => {
      const [row] = await rowsOf(knex, 'charges', id);
      for (const [column, change, expected] of changes) {
        const { rows } = await reportAfter(knex, id, (trx) =>
          trx.raw(`update holdfast.charges set ${change} where ctid = ?::tid`, [row?.ctid ?? '']),
        );
        expect(
          rows.map(({ table, column: of }) => `${table}.${of}`),
          column,
        ).toEqual([...expected].reverse());
      }
      const removed = await reportAfter(knex, id, (trx) =>
        trx('holdfast.charges').where({ run_id: id, turn: 1 }).delete(),
      );
      expect(removed.broken?.what).toMatch(/^cost_nano_usd .* its charges add up to /);
      expect(removed.rows.at(-1)).toMatchObject({ table: 'charges', row: 'turn 1', column: null });
    });
  });

  /** What `verify` says after a change, which is put back. */
  const reportAfter = (
    knex: Knex,
    id: string,
    change: (trx: Knex.Transaction) => PromiseLike<unknown>,
  ): Promise<VerifyReport> => after(knex, change, (trx) => verify(trx, id));

  /** Changes the column of one run after the other, until a change of it is found. What was changed is put back. */
  async function isFound(knex: Knex, name: CopyName, column: string, type: string): Promise<boolean> {
    for (const id of ids.values()) {
      const rows = await rowsOf(knex, name, id);
      for (const { ctid } of rows) {
        const report = await reportAfter(knex, id, (trx) => changeColumn(trx, { table: name, column, type, ctid }));
        if (report.rows.some((one) => one.table === name && (one.column === column || one.column === null))) {
          expect(report).toMatchObject({ ok: false, complete: false });
          return true;
        }
      }
    }
    return false;
  }
});
