import { Agent } from '@openai/agents';
import { expect, it } from 'vitest';
import { z } from 'zod';
import { defineAgent, defineTool, functionModel, runState } from '../../../src/index.js';
import { describeEachDatabase } from '../../harness/database.js';
import { ADMIN, dataOf, decideAndRest, engineFor, restOf, runToRest } from '../../harness/engine.js';
import { call, type Output, outputAfter, say } from '../../harness/script.js';

/** The state of a run over parallel calls, failures, pauses, lost rows, forks and replays. */

const cart = z.object({
  items: z.array(z.string()).max(4).default([]),
  cents: z.int().default(0),
  note: z.string().optional(),
});
const ok = { description: 'A tool of the test.', output: z.json() };

const put = defineTool({
  ...{ ...ok, name: 'put', input: z.object({ item: z.string(), cents: z.int(), after: z.number().default(0) }) },
  state: cart,
  execute: async ({ item, cents, after }, { state }) => {
    await new Promise((resolve) => setTimeout(resolve, after));
    const before = state.get().items.length;
    state.append('/items', item);
    state.add('/cents', cents);
    return { before, version: state.version };
  },
});
const note = defineTool({
  ...{ ...ok, name: 'note', input: z.object({ text: z.string(), fails: z.boolean().default(false) }), state: cart },
  effect: 'pure' as const,
  execute: ({ text, fails }, { state }) => {
    state.change((draft) => {
      draft.note = text;
    });
    if (fails) throw new Error('not today');
    return 'noted';
  },
});
const spoil = defineTool({
  ...{ ...ok, name: 'spoil', input: z.object({}), state: cart },
  execute: (_input, { state }) => {
    state.change((draft) => Object.assign(draft, { cents: 'many' }));
    return 'spoilt';
  },
});
const pay = defineTool({
  ...{ ...ok, name: 'pay', input: z.object({}), state: cart, approval: true },
  execute: (_input, { state }) => {
    const { cents } = state.get();
    state.change((draft) => Object.assign(draft, { items: [], cents: 0 }));
    return { paid: cents };
  },
});
const clock = defineTool({
  ...{ ...ok, name: 'clock', input: z.object({}), effect: 'pure' as const, deterministic: true },
  execute: async (_input, { now, logicalTime }) => ({ at: now(), later: now(), seq: await logicalTime() }),
});

const grow = defineTool({
  ...{ ...ok, name: 'grow', input: z.object({}) },
  execute: (_input, { state }) => {
    state.add('/size', 1e308);
    return 'grown';
  },
});

const told: string[] = [];
const TOOLS = [put, note, spoil, pay, clock, grow];
const shopper = (name: string, script: readonly Output[], more: { readonly state?: z.ZodType } = { state: cart }) =>
  defineAgent({
    agent: new Agent({
      ...{ name, tools: TOOLS },
      instructions: () => (more.state === undefined ? '' : `Cart: ${JSON.stringify(runState(cart))}`),
      model: functionModel(name, async ({ systemInstructions = '', input }) => {
        told.push(systemInstructions);
        return outputAfter(script, input);
      }),
    }),
    ...{ grants: TOOLS.map((tool) => `tool:call:${tool.name}`), ...more },
  });

const both = [call('put', { item: 'slow', cents: 3, after: 60 }, 'c1'), call('put', { item: 'fast', cents: 5 }, 'c2')];

describeEachDatabase('the state of a run', (kind) => {
  const test = engineFor(kind, {
    agents: [
      shopper('shopper', [
        both,
        [call('note', { text: 'lost', fails: true }, 'c3'), call('note', { text: 'kept' }, 'c4')],
        [call('pay', {}, 'c5')],
        [say('done')],
      ]),
      shopper('spoiler', [[call('spoil', {}, 's1')], [say('done')]]),
      shopper('hoarder', [
        ['a', 'b', 'c', 'd', 'e'].map((item, index) => call('put', { item, cents: 1 }, `h${index}`)),
        [say('never')],
      ]),
      shopper('stateless', [[call('note', { text: 'x' }, 'n1')], [say('done')]], {}),
      shopper('grower', [[call('grow', {}, 'g1'), call('grow', {}, 'g2')], [say('never')]], {
        state: z.looseObject({}),
      }),
      shopper('timer', [[call('clock', {}, 't1')], [say('done')]]),
    ],
  });

  const stateOf = async (id: string, at?: number) => (await test.engine.stateAt(id, at, ADMIN)).state.agentState;

  it('takes the changes of calls in the order of the model, once, and only of those that succeed', async () => {
    told.length = 0;
    const paused = await runToRest(test.engine, 'shopper');
    expect(paused.status).toBe('paused');
    expect(await stateOf(paused.id)).toEqual({
      ...{ version: 3, value: { items: ['slow', 'fast'], cents: 8, note: 'kept' } },
    });
    const ends = await dataOf(test.engine, paused.id, 'call.finished');
    // Calls of one answer read the same state, whichever ends first.
    expect(ends.slice(0, 2).map(({ outcome }) => outcome)).toMatchObject([
      {
        output: { before: 0, version: 0 },
        state: { seen: 0, changes: [{ op: 'append', values: ['slow'] }, { op: 'add' }] },
      },
      { output: { before: 0, version: 0 }, state: { seen: 0 } },
    ]);
    expect(ends[2]?.['outcome']).toMatchObject({ type: 'error' });
    expect(ends[2]?.['outcome']).not.toHaveProperty('state');

    await test.restart();
    expect(await decideAndRest(test.engine, paused.id, { verdict: 'approve' })).toMatchObject({ status: 'completed' });
    expect((await dataOf(test.engine, paused.id, 'call.finished')).at(-1)).toMatchObject({
      outcome: { output: { paid: 8 }, state: { seen: 3 } },
    });
    expect(await stateOf(paused.id)).toEqual({ version: 4, value: { items: [], cents: 0, note: 'kept' } });
    expect(told.map((one) => JSON.parse(one.slice('Cart: '.length)).cents)).toEqual([0, 8, 8, 0]);
    expect(await test.engine.verifyRun(paused.id, ADMIN)).toMatchObject({ ok: true, complete: true });
    expect(await test.engine.replayRun(paused.id, {}, ADMIN)).toMatchObject({ differences: [] });
  });

  it('is made again from the log where the stored state is lost, and a fork goes on from its own place', async () => {
    const paused = await runToRest(test.engine, 'shopper');
    await test.between((knex) => knex('holdfast.snapshots').where({ run_id: paused.id }).delete());
    await decideAndRest(test.engine, paused.id, { verdict: 'approve' });
    expect(await stateOf(paused.id)).toEqual({ version: 4, value: { items: [], cents: 0, note: 'kept' } });

    const { items } = await test.engine.listEvents(paused.id, { after: 0, limit: 200 }, ADMIN);
    const second = items.filter((event) => event.kind === 'call.finished')[1]?.seq ?? 0;
    expect(await stateOf(paused.id, second - 1)).toMatchObject({ value: { items: ['slow'], cents: 3 } });
    const fork = await test.engine.forkRun(paused.id, { at: second }, ADMIN);
    expect(await restOf(test.engine, fork.id)).toMatchObject({ status: 'paused' });
    expect(await stateOf(fork.id)).toEqual({
      ...{ version: 3, value: { items: ['slow', 'fast'], cents: 8, note: 'kept' } },
    });
    expect(await test.engine.verifyRun(fork.id, ADMIN)).toMatchObject({ ok: true });
    expect(await test.engine.diffRuns(paused.id, fork.id, ADMIN)).toMatchObject({ start: [] });
  });

  it('refuses what does not fit: in a call by its error, of calls beside each other by the end of the run', async () => {
    const spoilt = await runToRest(test.engine, 'spoiler');
    expect(spoilt.status).toBe('completed');
    expect((await dataOf(test.engine, spoilt.id, 'call.finished'))[0]).toMatchObject({
      outcome: { type: 'error', code: 'state_invalid', message: expect.stringContaining('cents') },
    });
    const hoard = await runToRest(test.engine, 'hoarder');
    expect(hoard).toMatchObject({ status: 'failed', error: { code: 'state_invalid' } });
    expect(await test.engine.replayRun(hoard.id, {}, ADMIN)).toMatchObject({ differences: [] });
    const grown = await runToRest(test.engine, 'grower');
    expect(grown).toMatchObject({ status: 'failed', error: { code: 'state_invalid' } });
    expect(grown.error?.message).toContain('/size is larger than any number');
    expect(await test.engine.verifyRun(grown.id, ADMIN)).toMatchObject({ ok: true });
    const without = await runToRest(test.engine, 'stateless');
    expect((await dataOf(test.engine, without.id, 'call.finished'))[0]).toMatchObject({
      outcome: { type: 'error', code: 'state_missing' },
    });
  });

  it('records the clock of a call and its place in the log, so that it can be executed again', async () => {
    const run = await runToRest(test.engine, 'timer');
    const [ended] = await dataOf(test.engine, run.id, 'call.finished');
    const { items } = await test.engine.listEvents(run.id, { after: 0, limit: 100 }, ADMIN);
    const began = items.find((event) => event.kind === 'call.started');
    const { times, output } = z.object({ times: z.array(z.number()), output: z.json() }).parse(ended?.['outcome']);
    expect(output).toEqual({ at: times[0], later: times[1], seq: began?.seq });
    const report = await test.engine.replayRun(run.id, { executePure: true }, ADMIN);
    expect(report).toMatchObject({ differences: [], executed: 1 });
  });

  it('is declared with a schema that says what a run begins with', () => {
    const agents = [{ agent: new Agent({ name: 'a' }), state: z.object({ n: z.number() }) }];
    return expect(test.restart({ agents })).rejects.toMatchObject({
      ...{ code: 'agent_invalid', fields: [{ pointer: '/state', detail: expect.stringContaining('`n`') }] },
    });
  });
});
