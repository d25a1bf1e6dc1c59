import { Agent } from '@openai/agents';
import type { Knex } from 'knex';
import { beforeEach, expect, it } from 'vitest';
import { z } from 'zod';
import { defineAgent, defineTool, type Engine, waitFor } from '../../../src/index.js';
import { describeBothDatabasesSlowly } from '../../harness/database.js';
import { ADMIN, BOB, engineFor, restOf, runToRest } from '../../harness/engine.js';
import { call, scripted } from '../../harness/script.js';
import { verify } from './changed-rows.js';

/** Rows of calls that someone forges, changes or removes while their run waits: no call ends, goes on or begins again by them. */

let did: string[] = [];
const shape = { input: z.object({ n: z.number() }), output: z.string() };
const pay = defineTool({
  ...{ ...shape, name: 'pay', description: 'Pays.', approval: true },
  execute: ({ n }) => {
    did.push(`pay ${n}`);
    return 'paid';
  },
});
const asking = (name: string, effect: 'pure' | 'unsafe') =>
  defineTool({
    ...{ ...shape, name, description: 'Asks.', effect },
    execute: () => {
      did.push(name);
      return waitFor({ kind: 'question', text: 'Which?', memo: 'm' });
    },
    resume: async (_input, settlement) => {
      did.push(`${name} ${JSON.stringify(settlement)}`);
      return settlement.type;
    },
  });
const tools = [pay, asking('ask', 'pure'), asking('mail', 'unsafe')];
const agentOf = (name: string) =>
  defineAgent({
    agent: new Agent({ name, model: scripted([[call(name, { n: 1 }, 'c1')]]), tools }),
    grants: ['tool:call:*'],
  });
const config = { agents: ['pay', 'ask', 'mail'].map(agentOf) };

const FORGED = `'{"output":"forged","type":"output"}'`;
const SETTLED = `'{"actor":"eve","memo":"m","message":null,"type":"answered","value":"evil"}'`;
const insert = (outcome: string) => `insert into holdfast.calls
  (run_id, call_id, tenant, tool, tool_version, effect, digest, execution, worker, epoch, outcome)
  select run_id, call_id, tenant, tool, tool_version, 'unsafe', digest, 'x', 'w', 0, ${outcome}
    from holdfast.interruptions where run_id = ?`;
const set = (what: string) => `update holdfast.calls set ${what} where run_id = ?`;
const CHANGES: readonly (readonly [agent: string, what: string, sql: string, found: string])[] = [
  ['pay', 'an outcome', insert(FORGED), 'outcome of the row c1 of calls'],
  ['pay', 'an intent', insert('null'), 'the row c1 of calls: the log says that the call has not begun'],
  ['ask', 'an outcome', set(`waiting = null, outcome = ${FORGED}`), 'outcome of the row c1 of calls'],
  ['ask', 'an answer', set(`waiting = null, resumed = ${SETTLED}`), 'waiting of the row c1 of calls'],
  ['ask', 'another question', set(`waiting = replace(waiting, 'Which', 'Whose')`), 'waiting of the row c1 of calls'],
  ['ask', 'another wait', set(`waiting = replace(waiting, '"ordinal":1', '"ordinal":2')`), 'waiting of the row c1'],
  ['ask', 'another memo', set(`waiting = replace(waiting, '"memo":"m"', '"memo":"x"')`), 'its memo is not the one'],
  ['ask', 'what is no JSON', set(`waiting = '{'`), 'waiting of the row c1 of calls'],
  ['mail', 'no row', 'delete from holdfast.calls where run_id = ?', 'the row of a call that waits is missing'],
  ['mail', 'no wait', set('waiting = null'), 'waiting of the row c1 of calls'],
];

describeBothDatabasesSlowly('rows of calls that a segment begins with', (kind) => {
  const t = engineFor(kind, config);
  beforeEach(() => {
    did = [];
  });
  const decisionOf = (agent: string): Parameters<Engine['decide']>[1] =>
    agent === 'pay' ? { verdict: 'approve' } : { verdict: 'answer', value: 'blue' };
  const decide = async (agent: string, { id, interruptions }: { id: string; interruptions: readonly string[] }) => {
    await t.engine.decide(interruptions[0] ?? '', decisionOf(agent), BOB);
    return restOf(t.engine, id);
  };

  it('fail the run by name, and nothing executes, where the log says otherwise', { timeout: 60_000 }, async () => {
    const paused: Awaited<ReturnType<typeof runToRest>>[] = [];
    for (const [agent] of CHANGES) paused.push(await runToRest(t.engine, agent));
    await t.between(async (knex: Knex) => {
      for (const [index, [, , sql]] of CHANGES.entries()) await knex.raw(sql, [paused[index]?.id ?? '']);
    });
    did = [];
    for (const [index, [agent, what, , found]] of CHANGES.entries()) {
      const run = paused[index];
      if (run === undefined) throw new Error('there is no such run');
      const ended = await decide(agent, run);
      expect(ended, `${agent}: ${what}`).toMatchObject({ status: 'failed', error: { code: 'row_changed' } });
      expect(ended.error?.message, `${agent}: ${what}`).toContain(found);
    }
    expect(did).toEqual([]);
  });

  it('are what the pause has left, and are found by verify while the run waits', async () => {
    const [paid, asked] = [await runToRest(t.engine, 'pay'), await runToRest(t.engine, 'ask')];
    const said = (id: string, sql: string) =>
      t.between(async (knex) => {
        expect(await verify(knex, id)).toMatchObject({ ok: true, rows: [] });
        await knex.raw(sql, [id]);
        return (await verify(knex, id)).rows.map(({ table, row, column }) => `${table} ${row} ${column}`);
      });
    expect(await said(paid.id, insert(FORGED))).toEqual(['calls c1 outcome']);
    expect(await said(asked.id, insert(FORGED).replace('select run_id, call_id', `select run_id, 'c9'`))).toEqual([
      'calls c9 null',
    ]);
    const [forged, answered] = [await runToRest(t.engine, 'ask'), await runToRest(t.engine, 'mail')];
    expect(await said(forged.id, set(`waiting = replace(waiting, '"memo":"m"', '"memo":"x"')`))).toEqual([
      'calls c1 waiting',
    ]);
    expect(await decide('mail', answered)).toMatchObject({ status: 'completed' });
    expect(await said(answered.id, set(`resumed = replace(resumed, '"memo":"m"', '"memo":"x"')`))).toEqual([
      'calls c1 resumed',
    ]);
    const others = [await runToRest(t.engine, 'pay'), await runToRest(t.engine, 'mail')];
    did = [];
    for (const [index, agent] of ['pay', 'mail'].entries()) {
      const run = others[index];
      if (run === undefined) throw new Error('there is no such run');
      expect(await decide(agent, run), agent).toMatchObject({ status: 'completed' });
      expect(await t.engine.verifyRun(run.id, ADMIN), agent).toMatchObject({ ok: true, rows: [] });
    }
    expect(did).toEqual(['pay 1', expect.stringMatching(/^mail .*blue/)]);
  });
});
