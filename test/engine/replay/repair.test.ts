import { Agent } from '@openai/agents';
import { beforeAll, expect, it, vi } from 'vitest';
import { z } from 'zod';
import type { Invariant } from '../../../src/core/log/invariant.js';
import { defineAgent, defineTool, type RunEvent, type RunView } from '../../../src/index.js';
import type { Database } from '../../../src/storage/database/database.js';
import { chainAnew } from '../../harness/chain-anew.js';
import { describeEachDatabaseSlowly } from '../../harness/database.js';
import { ADMIN, BOB, dataOf, engineFor, eventsOf, restOf, runToRest } from '../../harness/engine.js';
import { call, scripted } from '../../harness/script.js';

/** A broken log is told what it has lost, stays as it is, and goes on from its last whole event in one run of its own. */

let did: string[] = [];
let hangs = false;
const input = z.object({ n: z.number() });
const output = z.object({ done: z.string() });

const pay = defineTool({
  ...{ name: 'pay', description: 'Pays.', input, output, effect: 'unsafe' },
  approval: ({ n }) => n > 10 && `${n} is much`,
  execute: ({ n }) => {
    did.push(`pay ${n}`);
    return { done: `pay ${n}` };
  },
});
const look = defineTool({
  ...{ name: 'look', description: 'Looks.', input, output, effect: 'pure' },
  execute: async ({ n }, { signal }) => {
    did.push(`look ${n}`);
    if (hangs && n === 9)
      await new Promise((_, reject) => signal.addEventListener('abort', () => reject(new Error('late'))));
    return { done: `look ${n}` };
  },
});
const agent = (name: string, outputs: Parameters<typeof scripted>[0]) =>
  defineAgent({ agent: new Agent({ name, model: scripted(outputs), tools: [pay, look] }), grants: ['tool:call:*'] });

const config = {
  agents: [
    agent('payer', [
      [call('pay', { n: 1 }, 'a'), call('look', { n: 1 }, 'b')],
      [call('pay', { n: 20 }, 'c')],
      [call('look', { n: 2 }, 'd')],
    ]),
    agent('slow', [[call('look', { n: 9 }, 'z')]]),
  ],
  evidence: { intervalMs: 3_600_000 },
};

type Log = readonly RunEvent[];
const nth = (log: Log, kind: string, number: number): number =>
  log.filter((event) => event.kind === kind)[number - 1]?.seq ?? 0;

interface Damaged {
  readonly name: string;
  /** Where the run is when its log breaks. */
  readonly rest?: 'paused' | 'running';
  readonly sql: (log: Log) => string | ((knex: Database['knex'], id: string) => Promise<void>);
  readonly invariant: Invariant;
  readonly valid: (log: Log) => number;
  /** Unsafe calls that are lost. */
  readonly unsafe?: readonly string[];
  /** What is executed in the repaired run. */
  readonly again: readonly string[];
}

const on = (sql: string): string => sql.replaceAll('RUN', 'run_id = :id');

const DAMAGES: readonly Damaged[] = [
  {
    name: 'a byte of a payload is another one',
    sql: (log) =>
      on(
        `update holdfast.events set data = replace(data, 'look 1', 'look 7') where RUN and seq = ${nth(log, 'call.finished', 2)}`,
      ),
    ...{ invariant: 'payload_hash', valid: (log) => nth(log, 'call.finished', 2) - 1 },
    ...{ unsafe: ['c'], again: ['pay 20', 'look 2'] },
  },
  {
    name: 'a payload is no JSON any more',
    sql: (log) =>
      on(`update holdfast.events set data = left(data, 9) where RUN and seq = ${nth(log, 'model.responded', 3)}`),
    ...{ invariant: 'payload_hash', valid: (log) => nth(log, 'model.responded', 3) - 1, again: ['look 2'] },
  },
  {
    name: 'an event is missing',
    sql: (log) => on(`delete from holdfast.events where RUN and seq = ${nth(log, 'model.requested', 2)}`),
    ...{ invariant: 'event_order', valid: (log) => nth(log, 'model.requested', 2) - 1 },
    ...{ unsafe: ['c'], again: ['pay 20', 'look 2'] },
  },
  {
    name: 'two events are in each other’s place',
    sql: (log) => {
      const one = nth(log, 'model.requested', 3);
      return on(
        `update holdfast.events set seq = case seq when ${one} then ${-one - 1} when ${one + 1} then ${-one} else seq end where RUN; update holdfast.events set seq = -seq where RUN and seq < 0`,
      );
    },
    ...{ invariant: 'event_link', valid: (log) => nth(log, 'model.requested', 3) - 1, again: ['look 2'] },
  },
  {
    name: 'an event was moved out of the way',
    sql: (log) => on(`update holdfast.events set seq = -1 where RUN and seq = ${nth(log, 'model.responded', 3)}`),
    ...{ invariant: 'event_order', valid: (log) => nth(log, 'model.responded', 3) - 1, again: ['look 2'] },
  },
  {
    name: 'its end is cut',
    sql: (log) => on(`delete from holdfast.events where RUN and seq > ${nth(log, 'call.finished', 4)}`),
    ...{ invariant: 'log_end', valid: (log) => nth(log, 'call.finished', 4), again: [] },
  },
  {
    name: 'the row of the run says something else',
    sql: () => `update holdfast.runs set output = '"better"', input = '"other"' where id = :id`,
    ...{ invariant: 'run_row', valid: (log) => log.length, again: [] },
  },
  {
    name: 'its chain was made again behind an entry of the log over all runs',
    sql: () => (knex, id) => chainAnew(knex, id, { from: 'look 2', to: 'look 3' }),
    ...{ invariant: 'log_entry', valid: (log) => nth(log, 'run.paused', 1) },
    ...{ unsafe: ['c'], again: ['pay 20', 'look 2'] },
  },
  {
    name: 'it breaks while its run waits',
    rest: 'paused',
    sql: (log) =>
      on(
        `update holdfast.events set at = '2001-01-01T00:00:00.000Z' where RUN and seq = ${nth(log, 'model.responded', 2)}`,
      ),
    ...{ invariant: 'event_hash', valid: (log) => nth(log, 'model.responded', 2) - 1, again: ['pay 20', 'look 2'] },
  },
  {
    name: 'its head is gone while its run waits',
    rest: 'paused',
    sql: () => on('delete from holdfast.run_heads where RUN'),
    ...{ invariant: 'log_end', valid: (log) => log.length, again: ['pay 20', 'look 2'] },
  },
  {
    name: 'it breaks while its run works',
    rest: 'running',
    sql: (log) =>
      on(
        `update holdfast.events set data = replace(data, 'slow', 'fast') where RUN and seq = ${nth(log, 'model.requested', 1)}`,
      ),
    ...{ invariant: 'payload_hash', valid: (log) => nth(log, 'model.requested', 1) - 1, again: ['look 9'] },
  },
];

describeEachDatabaseSlowly('a log is repaired when', (kind) => {
  const t = engineFor(kind, config);
  const runs = new Map<string, { readonly run: RunView; readonly log: Log }>();
  const rest = (id: string) => restOf(t.engine, id);
  const approve = async (run: RunView) => {
    for (const id of run.interruptions) await t.engine.decide(id, { verdict: 'approve' }, BOB);
    return rest(run.id);
  };
  const repair = (id: string, accept: readonly string[] = [], apply = true) =>
    t.engine.repairRun(id, { apply, accept: [...accept] }, ADMIN);
  const of = (name: string) => {
    const found = runs.get(name);
    if (found === undefined) throw new Error(`no run was damaged so that ${name}`);
    return found;
  };
  let lost: string;
  let whole: string;

  beforeAll(async () => {
    hangs = true;
    const waiting = new Map<string, RunView>();
    for (const { name, rest: at } of DAMAGES)
      if (at !== 'running') waiting.set(name, await runToRest(t.engine, 'payer'));
    const { id: slow } = await t.engine.startRun({ agent: 'slow', input: 'go' }, ADMIN);
    await vi.waitFor(() => expect(did).toContain('look 9'), { timeout: 10_000 });
    await t.engine.checkpointNow();
    for (const { name, rest: at } of DAMAGES) {
      const run = waiting.get(name);
      const now = run === undefined ? await t.engine.getRun(slow, ADMIN) : at === undefined ? await approve(run) : run;
      await vi.waitFor(async () => expect(await eventsOf(t.engine, now.id, 'call.started')).not.toEqual([]), 10_000);
      runs.set(name, { run: now, log: await eventsOf(t.engine, now.id) });
    }
    lost = (await approve(await runToRest(t.engine, 'payer'))).id;
    whole = (await runToRest(t.engine, 'payer')).id;
    await t.engine.checkpointNow();
    await t.between(async (knex) => {
      for (const { name, sql } of DAMAGES) {
        const { run, log } = of(name);
        const act = sql(log);
        if (typeof act !== 'string') await act(knex, run.id);
        else for (const statement of act.split(';')) await knex.raw(statement, { id: run.id });
      }
      const first = `update holdfast.events set data = replace(data, '"input":"go"', '"input":"no"') where run_id = ? and seq = 1`;
      await knex.raw(first, [lost]);
    });
  }, 120_000);

  it.each(DAMAGES)('$name', async ({ name, invariant, valid, unsafe = [], again, rest: at }) => {
    const { run, log } = of(name);
    const upTo = valid(log);
    const said = await repair(run.id, [], false);
    expect(said).toMatchObject({ runId: run.id, broken: { invariant }, valid: upTo, repairedBy: null });
    expect(said.lost.events, 'events').toBeGreaterThanOrEqual(log.length - upTo);
    expect(said.lost.calls.flatMap((one) => (one.unsafe ? [one.callId] : [])).sort()).toEqual(unsafe);
    const before = await t.engine.verifyRun(run.id, ADMIN);
    expect(before).toMatchObject({ ok: false, repairedBy: null });
    if (unsafe.length > 0) {
      const refused = { code: 'repair_repeats', message: expect.stringContaining(`pay (${unsafe[0]})`) };
      await expect(repair(run.id)).rejects.toMatchObject(refused);
    }
    const strange = { code: 'invalid_request', fields: [{ pointer: '/accept/0' }] };
    await expect(repair(run.id, ['x'])).rejects.toMatchObject(strange);
    // Nothing was changed by what was only said or refused.
    expect((await t.engine.getRun(run.id, ADMIN)).status).toBe(at ?? 'completed');

    did = [];
    hangs = false;
    const both = await Promise.all([repair(run.id, unsafe), repair(run.id, unsafe)]);
    const id = both[0]?.repairedBy ?? '';
    expect(both.map(({ repairedBy }) => repairedBy)).toEqual([id, id]);
    expect((await repair(run.id)).repairedBy).toBe(id);

    const source = await t.engine.getRun(run.id, ADMIN);
    expect(source).toMatchObject({ status: at === undefined ? 'completed' : 'cancelled', interruptions: [] });
    const { items } = await t.engine.listInterruptions({ status: 'pending', runId: run.id, limit: 10 }, BOB);
    expect(items).toEqual([]);
    const after = await t.engine.verifyRun(run.id, ADMIN);
    expect(after).toMatchObject({ ok: false, repairedBy: id, broken: { seq: before.broken?.seq } });

    let next = await rest(id);
    if (next.status === 'paused') next = await approve(next);
    expect(next, JSON.stringify(next.error)).toMatchObject({
      ...{ status: 'completed', input: 'go', forkedFrom: { runId: run.id, seq: upTo } },
    });
    if (at === undefined && invariant !== 'run_row') expect(next.output).toBe(run.output);
    expect(did).toEqual(again);
    expect(await t.engine.verifyRun(id, ADMIN)).toMatchObject({ ok: true, complete: true });
    expect(await dataOf(t.engine, id, 'run.forked')).toMatchObject([
      { why: 'repair', runId: run.id, seq: upTo, repair: { invariant, accepted: unsafe, actor: 'ada' } },
    ]);
  });

  it('says what is still readable, and which calls and decisions are lost', async () => {
    const { run, log } = of('an event is missing');
    const { lost: gone, status } = await repair(run.id);
    const from = nth(log, 'model.requested', 2);
    expect(status).toBe('completed');
    expect(gone.events).toBe(log.length - from + 1);
    expect(gone.readable.map(({ seq, kind, whole: is }) => ({ seq, kind, is }))).toEqual(
      log.slice(from).map(({ seq, kind }) => ({ seq, kind, is: true })),
    );
    expect(gone.calls).toEqual([
      { callId: 'c', tool: 'pay', effect: 'unsafe', outcome: 'output', unsafe: true },
      { callId: 'd', tool: 'look', effect: 'pure', outcome: 'output', unsafe: false },
    ]);
    expect(gone.decisions).toMatchObject([{ verdict: 'approve', actor: 'bob' }]);
    const changed = await repair(of('a byte of a payload is another one').run.id);
    expect(changed.lost.readable[0]).toMatchObject({ kind: 'call.finished', whole: false });
  });

  it('not where nothing of it is whole, or nothing is broken', async () => {
    const said = await repair(lost, [], false);
    expect(said).toMatchObject({ valid: 0, broken: { seq: 1, invariant: 'payload_hash' } });
    expect(said.lost.calls.filter((one) => one.unsafe).map(({ callId }) => callId)).toEqual(['a', 'c']);
    await expect(repair(lost, ['a', 'c'])).rejects.toMatchObject({ code: 'log_lost' });
    await expect(repair(whole)).rejects.toMatchObject({ code: 'log_whole' });
    await expect(repair('run_none')).rejects.toMatchObject({ code: 'run_unknown' });
    await expect(t.engine.repairRun(lost, {}, { ...ADMIN, tenant: 'other' })).rejects.toMatchObject({
      code: 'run_unknown',
    });
  });
});
