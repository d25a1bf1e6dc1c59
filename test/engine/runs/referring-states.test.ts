import { Agent } from '@openai/agents';
import type { Knex } from 'knex';
import { beforeEach, expect, it } from 'vitest';
import { z } from 'zod';
import { defineAgent, defineTool, functionModel } from '../../../src/index.js';
import { describeEachDatabase } from '../../harness/database.js';
import { ADMIN, BOB, engineFor, eventsOf, restOf } from '../../harness/engine.js';
import { call, resultsIn, say } from '../../harness/script.js';
import { SLOW } from '../../harness/slow.js';

/** The stored state of a run refers to long results in the log, and to a long input, in place of having them. */

const LONG = 'a line of a document\n'.repeat(20_000);
const LINES = Array.from({ length: 20_000 }, (_, n) => ({ n, line: `line ${n}` }));
const INPUT = 'please read this: '.repeat(20_000);

const shape = { input: z.object({ n: z.number() }), maxOutputBytes: 4 * 1024 * 1024 };
const read = defineTool({
  ...{ ...shape, name: 'read', description: 'Reads.', effect: 'pure', output: z.string() },
  execute: async ({ n }) => `${n} ${LONG}`,
});
const list = defineTool({
  ...{ ...shape, name: 'list', description: 'Lists.', effect: 'pure', output: z.unknown() },
  execute: async () => LINES,
});
const pay = defineTool({
  ...{ ...shape, name: 'pay', description: 'Pays.', approval: true, output: z.string() },
  execute: async ({ n }) => `paid ${n}`,
});

/** What the model was asked with last, item by item. */
let asked: readonly string[] = [];
const SCRIPT = [
  [call('read', { n: 0 }, 'c0')],
  [call('list', { n: 1 }, 'c1')],
  [call('read', { n: 2 }, 'c2')],
  [call('pay', { n: 3 }, 'c3')],
  [call('read', { n: 4 }, 'c4')],
  [call('pay', { n: 5 }, 'c5')],
];
const agentOf = (name: string, handoffs: Agent[] = []) =>
  new Agent({
    ...{ name, handoffs, tools: [read, list, pay] },
    model: functionModel(name, ({ input }) => {
      asked = typeof input === 'string' ? [input] : input.map((item) => JSON.stringify(item));
      return SCRIPT[resultsIn(input).length] ?? [say('done')];
    }),
  });
const declared = (agent: Agent) => defineAgent({ agent, grants: ['tool:call:*'] });
// An agent with handoffs keeps the turns that are over while it works.
const config = { agents: [declared(agentOf('reader')), declared(agentOf('whole', [agentOf('other')]))] };

describeEachDatabase('a stored state', (kind) => {
  const t = engineFor(kind, { ...config, turnsPerSegment: 2 });
  beforeEach(() => {
    asked = [];
  });

  const paused = async (agent: string): Promise<string> => {
    const { id } = await t.engine.startRun({ agent, input: INPUT }, ADMIN);
    expect(await restOf(t.engine, id)).toMatchObject({ status: 'paused' });
    return id;
  };
  const approve = async (runId: string) => {
    const { items } = await t.engine.listInterruptions({ status: 'pending', runId, limit: 10 }, BOB);
    for (const { id } of items) await t.engine.decide(id, { verdict: 'approve' }, BOB);
    return restOf(t.engine, runId);
  };
  const stateOf = async (knex: Knex, id: string): Promise<{ state: string; sdk: string; digest: string }> =>
    knex('holdfast.snapshots').where({ run_id: id }).orderBy('segment', 'desc').first('state', 'sdk', 'digest');

  /** The model reads all of it, in its order. */
  const expectWhole = (): void => {
    expect(asked[0]).toContain(INPUT);
    const results = asked.filter((item) => item.includes('"function_call_result"')).map((item) => item.length);
    const lines = JSON.stringify(LINES).length;
    for (const [n, least] of [LONG.length, lines, LONG.length, 0, LONG.length].entries())
      expect(results[n], `result ${n}`).toBeGreaterThan(least);
  };

  it.each(['reader', 'whole'])('of %s is small, and the run goes on from it as from all of it', async (agent) => {
    const id = await paused(agent);
    const { state, sdk } = await t.between((knex) => stateOf(knex, id));
    // Only the results of the last turn are in it.
    expect(state.length).toBeLessThan(20_000);
    expect(sdk).toBe('openai-agents-js+log');
    expect(await approve(id)).toMatchObject({ status: 'paused' });
    expectWhole();
    const later = await t.between((knex) => stateOf(knex, id));
    expect(later.state.length).toBeLessThan(30_000);
    expect(await approve(id)).toMatchObject({ status: 'completed', output: 'done' });
    expectWhole();
    expect(await t.engine.verifyRun(id, ADMIN)).toMatchObject({ ok: true, complete: true });
    expect(await t.engine.replayRun(id, {}, ADMIN)).toMatchObject({ result: 'same', differences: [] });
    const cut = (await eventsOf(t.engine, id, 'segment.cut'))[0];
    const { seq } = cut ?? { seq: 0 };
    const fork = await t.engine.forkRun(id, { at: seq }, ADMIN);
    expect((await restOf(t.engine, fork.id)).status).toBe('paused');
    expect(await approve(fork.id)).toMatchObject({ status: 'paused' });
    expectWhole();
  });

  it.runIf(SLOW)('that is lost is made again from the log', async () => {
    const id = await paused('reader');
    const before = await t.between(async (knex) => {
      const found = await stateOf(knex, id);
      await knex('holdfast.snapshots').where({ run_id: id }).update({ state: 'lost' });
      return found;
    });
    expect(await t.engine.verifyRun(id, ADMIN)).toMatchObject({ ok: false });
    expect(await approve(id)).toMatchObject({ status: 'paused' });
    expectWhole();
    expect(before.state).toContain('"logged_result"');
    expect(await approve(id)).toMatchObject({ status: 'completed' });
    expect(await t.engine.verifyRun(id, ADMIN)).toMatchObject({ ok: true });
  });

  it.runIf(SLOW)('fails the run by name where the log does not have the result that it refers to', async () => {
    const id = await paused('reader');
    await t.between((knex) =>
      knex('holdfast.events')
        .where({ run_id: id, kind: 'call.finished' })
        .update({ data: knex.raw(`replace(data, 'document', 'forgery!')`) }),
    );
    expect(await approve(id)).toMatchObject({ status: 'failed', error: { code: 'state_unreadable' } });
  });
});
