import { setTimeout as sleep } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { Agent, type ModelRequest } from '@openai/agents';
import pg from 'pg';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { z } from 'zod';
import { defineAgent, defineTool, functionModel } from '../../../src/index.js';
import { describeEachDatabaseSlowly } from '../../harness/database.js';
import { ADMIN, decideAndRest, engineFor, eventsOf, restOf } from '../../harness/engine.js';
import { call, resultsIn, say } from '../../harness/script.js';

/** A turn costs the same late in a long run as early in it: in what is written, in statements, and in what the SDK goes through. */

const PAD = 'x'.repeat(500);
/** What the model was shown, and what the SDK had copied by then, turn by turn of each run. */
const shown = new Map<string, unknown[][]>();
const copies = vi.fn();
const copied: number[] = [];

const shape = { input: z.object({ n: z.number(), pad: z.string() }), output: z.string() };
const look = defineTool({ name: 'look', description: 'Looks.', effect: 'pure', ...shape, execute: ({ pad }) => pad });
const pay = defineTool({ name: 'pay', description: 'Pays.', approval: true, ...shape, execute: () => 'paid' });

/** Calls a tool in each of so many turns, as its input says, and thinks and talks in between. */
const model = functionModel('long', ({ input }: ModelRequest) => {
  const items = typeof input === 'string' ? [] : input;
  const [, name = '', turns] = /"(\w+) (\d+)"/.exec(JSON.stringify(items)) ?? [];
  copied.push(copies.mock.calls.length);
  shown.set(name, [...(shown.get(name) ?? []), JSON.parse(JSON.stringify(items))]);
  const last = resultsIn(input).at(-1)?.callId ?? 'c-1';
  const n = Number(last.slice(1)) + 1;
  if (n >= Number(turns)) return [say('enough')];
  const calls = [call(name === 'paying' && n === 7 ? 'pay' : 'look', { n, pad: PAD }, `c${n}`)];
  if (name === 'compacting' && n === 7)
    return [{ type: 'compaction', encrypted_content: `${name} ${turns}` }, ...calls];
  if (n % 3 === 0) return [say('I look.'), ...calls];
  const text = { type: 'reasoning_text' as const, text: `thought ${n}` };
  return n % 3 === 1 ? [{ type: 'reasoning', id: `rs_${n}`, content: [], rawContent: [text] }, ...calls] : calls;
});

const agent = (name: string) =>
  defineAgent({
    agent: new Agent({ name, model, instructions: 'Be long.', tools: [look, pay] }),
    grants: ['tool:call:*'],
    maxTurns: 1000,
  });

describeEachDatabaseSlowly('a long run', (kind) => {
  const t = engineFor(kind, { agents: [agent('long')], turnsPerSegment: 5 });
  beforeEach(() => {
    const clone = structuredClone;
    vi.stubGlobal('structuredClone', (...given: Parameters<typeof structuredClone>) => {
      copies();
      return clone(...given);
    });
    for (const past of [shown, copies.mock.calls, copied]) 'clear' in past ? past.clear() : past.splice(0);
  });
  afterEach(() => vi.unstubAllGlobals());

  const run = async (input: string, sessionId?: string) => {
    const { id } = await t.engine.startRun({ agent: 'long', input, ...(sessionId ? { sessionId } : {}) }, ADMIN);
    return restOf(t.engine, id);
  };

  it.each([
    ['many', 'shows the model the same, in however many segments'],
    ['compacting', 'shows a model that has compacted the conversation the same, in however many segments'],
  ])('%s: %s', async (name) => {
    const once = `${name}_at_once`;
    expect(await run(`${name} 14`, name)).toMatchObject({ status: 'completed', segment: 2, turns: 15 });
    await t.restart({ turnsPerSegment: 1000 });
    expect(await run(`${name} 14`, once)).toMatchObject({ status: 'completed', segment: 0, turns: 15 });
    await t.restart();
    const inputs = shown.get(name) ?? [];
    expect(inputs).toHaveLength(30);
    expect(isDeepStrictEqual(inputs.slice(0, 15), inputs.slice(15))).toBe(true);
    const said = (id: string) => t.engine.openSession(id, ADMIN).getItems();
    expect(await said(name)).toEqual(await said(once));
  });

  it('shows the model the same after a person has decided, and after its state was lost', async () => {
    const paused = await run('paying 14');
    expect(paused).toMatchObject({ status: 'paused', segment: 2 });
    await t.between(async (knex) => {
      const { rows: recorded } = await knex.raw(
        `select 1 from dbos.operation_outputs where output like '%$schemaVersion%'`,
      );
      expect(recorded).toEqual([]);
      // That of the cut before went with the one of the pause.
      expect(await knex('holdfast.snapshots').where({ run_id: paused.id }).delete()).toBe(1);
    });
    await decideAndRest(t.engine, paused.id, { verdict: 'approve' });
    expect(await restOf(t.engine, paused.id)).toMatchObject({ status: 'completed', turns: 15 });
    const inputs = shown.get('paying') ?? [];
    expect(inputs).toHaveLength(15);
    for (const [n, input] of inputs.entries())
      expect(input.slice(0, inputs[n - 1]?.length ?? 0)).toEqual(inputs[n - 1] ?? []);
    const requests = (await eventsOf(t.engine, paused.id, 'model.requested')).map(({ data }) => data);
    expect(requests).toEqual(inputs.map(({ length }) => expect.objectContaining({ inputItems: length })));
  });

  it.each([5, 1000])(
    'makes the SDK go through no more in a late turn than in an early one, of %i in a segment',
    async (turnsPerSegment) => {
      await t.restart({ turnsPerSegment });
      await run('copied 60');
      const perTurn = copied.map((count, n) => count - (copied[n - 1] ?? 0));
      // What the model says comes again every third turn, and a segment every fifth.
      const sum = (from: number) => perTurn.slice(from, from + 15).reduce((all, count) => all + count, 0);
      expect(sum(45)).toBeGreaterThan(0);
      expect(sum(45)).toBeLessThanOrEqual(sum(15));
      await t.restart();
    },
  );

  it('writes as much, and asks the database as often, in each turn', async () => {
    const statements = vi.spyOn(pg.Client.prototype, 'query');
    // What a worker asks while nothing is to be done comes by time, and not by turns.
    const idleSince = performance.now();
    await sleep(3000);
    const idlePerMs = statements.mock.calls.length / (performance.now() - idleSince);
    const cost = async (turns: number) => {
      const before = { calls: statements.mock.calls.length, at: performance.now() };
      const { id } = await run(`cost${turns} ${turns}`);
      const idle = idlePerMs * (performance.now() - before.at);
      return { id, asked: (statements.mock.calls.length - before.calls - idle) / turns };
    };
    const [short, long] = [await cost(20), await cost(80)];
    statements.mockRestore();
    // What grew with the length of a run would be four times as much; how often a worker looks by itself is an estimate.
    expect(long.asked).toBeLessThanOrEqual(short.asked * 1.5);
    const perTurn = await t.between(async (knex) => {
      const bytes = async (id: string): Promise<number> => {
        const { rows } = await knex.raw(
          `select (select sum(length(e::text)) from holdfast.events e where run_id = :id)
                + (select sum(length(c::text)) from holdfast.calls c where run_id = :id)
                + (select coalesce(sum(length(s::text)), 0) from holdfast.snapshots s where run_id = :id)
                + (select sum(length(o::text)) from dbos.operation_outputs o where split_part(workflow_uuid, ':', 1) = :id)
                + (select sum(length(w::text)) from dbos.workflow_status w where split_part(workflow_uuid, ':', 1) = :id) as bytes`,
          { id },
        );
        return Number(rows[0].bytes);
      };
      return { short: (await bytes(short.id)) / 20, long: (await bytes(long.id)) / 80 };
    });
    expect(perTurn.long).toBeLessThanOrEqual(perTurn.short * 1.1);
  });
});
