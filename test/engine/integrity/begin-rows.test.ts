import { Agent } from '@openai/agents';
import type { Knex } from 'knex';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { z } from 'zod';
import { defineAgent, defineTool } from '../../../src/index.js';
import { revokeStanding } from '../../../src/storage/interruptions/standing-decisions.js';
import { appendEvents } from '../../../src/storage/log/events.js';
import { resumeWork } from '../../../src/storage/runs/runs-to-resume.js';
import { compareBegin } from '../../../steps/segment/begin-segment.js';
import { describeBothDatabasesSlowly } from '../../harness/database.js';
import { ADMIN, BOB, eventsOf, openTestEngine, restOf, runToRest, type TestEngine } from '../../harness/engine.js';
import { call, scripted } from '../../harness/script.js';

/** A segment begins with rows; where they do not say what the log says, the run fails by name and executes nothing. */

let asked: string[] = [];
let paid: number[] = [];
const pay = defineTool({
  ...{ name: 'pay', description: 'Pays.', effect: 'unsafe', approval: true },
  input: z.object({ n: z.number() }),
  output: z.string(),
  execute: ({ n }) => {
    paid.push(n);
    return 'paid';
  },
});
const shown = defineTool({
  ...{ name: 'shown', description: 'Says what it is asked.', effect: 'pure' },
  input: z.object({}),
  output: z.string(),
  execute: () => {
    asked.push('shown');
    return 'done';
  },
});
const agentOf = (name: string, outputs: Parameters<typeof scripted>[0]) =>
  defineAgent({
    agent: new Agent({ name, model: scripted(outputs), tools: [pay, shown] }),
    grants: ['tool:call:pay', 'tool:call:shown'],
  });
const config = {
  agents: [
    agentOf('payer', [[call('pay', { n: 1 }, 'c1')], [call('pay', { n: 2 }, 'c2')]]),
    agentOf('reader', [[call('shown', {}, 'c1')]]),
  ],
};

const QUEUED: readonly (readonly [column: string, sql: string])[] = [
  ['input', `'"Pay everything."'`],
  ['grants', `'[{"capability":"**","effect":"allow"}]'`],
  ['limits', `'{"maxTurns":1000,"maxTotalTokens":null,"maxDurationMs":null}'`],
  ['metadata', `'{"taskId":"x"}'`],
  ['agent', `'payer'`],
  ['agent_hash', `'sha256:0'`],
  ['model', `'expensive/model'`],
];

describeBothDatabasesSlowly('rows that a segment begins with', (kind) => {
  let t: TestEngine;
  beforeEach(async () => {
    [asked, paid] = [[], []];
    t = await openTestEngine(kind, config);
  });
  afterEach(() => t.close());

  const expectFailed = async (id: string, where: string) => {
    const run = await restOf(t.engine, id);
    expect(run, where).toMatchObject({ status: 'failed', error: { code: 'row_changed' } });
    expect(run.error?.message).toContain(where);
    const log = await eventsOf(t.engine, id);
    expect(log.at(-1)).toMatchObject({ kind: 'run.failed' });
    expect((await t.engine.verifyRun(id, ADMIN)).ok, where).toBe(false);
    return log;
  };

  it('a queued run whose row was changed executes nothing and fails by name', async () => {
    await t.restart({ role: 'api' });
    const ids = new Map<string, string>();
    for (const [column] of QUEUED)
      ids.set(column, (await t.engine.startRun({ agent: 'reader', input: 'go' }, ADMIN)).id);
    const same = await t.engine.startRun({ agent: 'reader', input: 'go' }, ADMIN);
    await t.between(async (knex) => {
      for (const [column, sql] of QUEUED)
        await knex.raw(`update holdfast.runs set ${column} = ${sql} where id = ?`, [ids.get(column) ?? '']);
    });
    expect(await restOf(t.engine, same.id)).toMatchObject({ status: 'completed' });
    for (const [column, id] of ids) {
      const log = await expectFailed(id, `${column} of the row ${id} of runs`);
      expect(log.map(({ kind: one }) => one)).toEqual(['run.created', 'run.failed']);
    }
    expect(asked).toEqual(['shown']);
  });

  const PAUSED: readonly (readonly [where: string, change: (knex: Knex, id: string) => Promise<unknown>])[] = [
    ['grants of the row', (knex, id) => knex('holdfast.runs').where({ id }).update({ grants: '[]' })],
    [
      'verdict of the row dec_',
      (knex, id) => knex('holdfast.decisions').where({ run_id: id }).update({ verdict: 'approve' }),
    ],
    [
      'arguments of the row int_',
      (knex, id) => knex('holdfast.interruptions').where({ run_id: id }).update({ arguments: '{"n":1000}' }),
    ],
    [
      'status of the row int_',
      (knex, id) => knex('holdfast.interruptions').where({ run_id: id }).update({ status: 'approved' }),
    ],
    [
      'scope of the row std_',
      (knex, id) => knex('holdfast.standing_decisions').where({ run_id: id }).update({ scope: '["tool:call:*"]' }),
    ],
  ];

  it('a paused run whose rows were changed executes nothing and fails by name', async () => {
    const paused: { readonly id: string; readonly interruptions: readonly string[] }[] = [];
    for (const _ of PAUSED) paused.push(await runToRest(t.engine, 'payer'));
    // Decided, and not begun again: no worker is there.
    await t.restart({ role: 'api' });
    for (const [index, [where]] of PAUSED.entries()) {
      const id = paused[index]?.interruptions[0] ?? '';
      if (where.startsWith('scope')) await t.engine.decide(id, { verdict: 'approve', always: true }, BOB);
      else await t.engine.decide(id, { verdict: 'reject', message: 'No.' }, BOB);
    }
    await t.between(async (knex) => {
      for (const [index, [, change]] of PAUSED.entries()) await change(knex, paused[index]?.id ?? '');
    });
    for (const [index, [where]] of PAUSED.entries()) await expectFailed(paused[index]?.id ?? '', where);
    expect(paid).toEqual([]);
  });

  it('a standing decision that is revoked while a segment begins fails no one, and one that is hidden does', async () => {
    const { id: runId, interruptions } = await runToRest(t.engine, 'payer');
    await t.restart({ role: 'api' });
    await t.engine.decide(interruptions[0] ?? '', { verdict: 'approve', always: true }, BOB);
    const [made] = (await t.engine.listStandingDecisions(runId, { limit: 50 }, ADMIN)).items;
    const id = made?.id ?? '';
    await t.between(async (knex) => {
      const begin = async () => {
        const { run, ...rows } = await resumeWork(knex, { runId, segment: 1, at: new Date() });
        if (run === undefined) throw new Error('the run has another segment');
        return () => compareBegin({ knex }, run, rows);
      };
      const [compare, beside] = [await begin(), await begin()];
      expect(await compare()).toBeNull();
      await knex.transaction(async (trx) => {
        await revokeStanding(trx, runId, id, 'ada');
        const event = { key: `standing:${id}:revoked`, parentKey: `standing:${id}` };
        const revoked = { ...event, kind: 'standing_decision.revoked', data: { id, actor: 'ada' } } as const;
        await appendEvents(trx, runId, [revoked], { at: new Date().toISOString(), worker: null });
      });
      expect(await beside()).toBeNull();
      expect(await (await begin())()).toBeNull();
      await knex('holdfast.standing_decisions').where({ id }).update({ revoked_at: null, revoked_by: null });
      const hidden = await (await begin())();
      expect(hidden?.message).toContain(`revoked_by of the row ${id} of standing_decisions`);
    });
  });
});
