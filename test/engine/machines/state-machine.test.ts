import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { defineStateMachine, defineTool, type StateOf } from '../../../src/index.js';
import { describeEachDatabase } from '../../harness/database.js';
import { ADMIN, BOB, decideAndRest, engineFor, eventsOf, pendingOf, restOf } from '../../harness/engine.js';

/** Runs whose next calls a pure function decides: over approvals, failures, forks and replays. */

const paid: string[] = [];
const pay = defineTool({
  ...{
    name: 'pay',
    description: 'Pays.',
    input: z.object({ cents: z.int() }),
    output: z.object({ receipt: z.string() }),
  },
  approval: ({ cents }) => cents > 100,
  execute: ({ cents }) => {
    if (cents === 13) throw new Error('no luck');
    paid.push(`r${cents}`);
    return { receipt: `r${cents}` };
  },
});
const note = defineTool({
  ...{ name: 'note', description: 'Notes.', input: z.object({ text: z.string() }), output: z.null(), effect: 'pure' },
  execute: () => null,
});

const states = {
  open: { data: z.object({ tries: z.int().default(0) }), to: ['paying', 'over'] },
  paying: { data: z.object({ cents: z.int(), since: z.number(), place: z.int() }), to: ['over'] },
  over: { data: z.object({ why: z.string() }), to: [] },
} as const;
type Refund = StateOf<typeof states>;

let rule = 'as agreed';
const refund = defineStateMachine({
  ...{ name: 'refund', states, initial: { name: 'open', data: {} }, tools: [pay, note] },
  input: z.object({ cents: z.int().positive() }),
  output: z.object({ receipt: z.string().optional(), why: z.string(), waited: z.boolean() }),
  grants: ['tool:call:pay', 'tool:call:note'],
  transition: (state: Refund, event, { now, logicalTime }) => {
    if (event.type === 'input') {
      const { cents } = event.input;
      const data = { cents, since: now(), place: logicalTime };
      const calls = [
        { tool: 'pay', arguments: { cents } },
        { id: 'first note', tool: 'note', arguments: { text: rule } },
      ];
      return { state: { name: 'paying', data }, calls };
    }
    if (event.id === 'first note') return { state };
    const why = event.type === 'failed' ? `${event.code}: ${event.message}` : rule;
    const receipt = event.type === 'output' ? (event.output as { receipt: string }).receipt : undefined;
    const waited = state.name === 'paying' && now() >= state.data.since;
    return { state: { name: 'over', data: { why } }, output: { ...(receipt && { receipt }), why, waited } };
  },
});

describeEachDatabase('a state machine', (kind) => {
  const test = engineFor(kind, {
    agents: [
      refund,
      defineStateMachine({
        ...{ name: 'dice', states: { open: { data: z.number() } }, initial: { name: 'open', data: 1 } },
        transition: () => ({ state: { name: 'open', data: Math.random() }, output: 1 }),
      }),
      defineStateMachine({
        ...{ name: 'late', states: { open: { data: z.number() } }, initial: { name: 'open', data: 1 } },
        // A program in JavaScript gets no word of the compiler.
        transition: (async () => Promise.reject(new Error('too late'))) as never,
      }),
      defineStateMachine({
        ...{ name: 'nul', states, initial: { name: 'open', data: {} }, tools: [note] },
        transition: (state) => ({ state, calls: [{ id: 'a\u0000b', tool: 'note', arguments: { text: 'x' } }] }),
      }),
      defineStateMachine({
        ...{ name: 'reader', states: { open: { data: z.null() } }, initial: { name: 'open', data: null } },
        input: z.union([z.string(), z.null()]),
        transition: (state, event) => ({ state, output: { given: event.type === 'input' ? event.input : null } }),
      }),
      defineStateMachine({
        ...{ name: 'tight', states, initial: { name: 'open', data: {} }, tools: [pay] },
        transition: (state, event) =>
          event.type === 'input'
            ? { state, calls: [{ tool: 'pay', arguments: { cents: 1 } }] }
            : { state, output: event },
      }),
    ],
  });
  const run = async (agent: string, input: string) => {
    const { id } = await test.engine.startRun({ agent, input }, ADMIN);
    return restOf(test.engine, id);
  };

  it('calls what its transition says, waits for people, and ends with its output', async () => {
    const { id, status } = await run('refund', '{"cents":500}');
    expect(status).toBe('paused');
    const ended = await decideAndRest(test.engine, id, { verdict: 'approve' }, BOB);
    expect(ended).toMatchObject({
      status: 'completed',
      output: { receipt: 'r500', why: 'as agreed', waited: true },
    });
    const [first] = await eventsOf(test.engine, id, 'model.responded');
    const [asked] = await eventsOf(test.engine, id, 'model.requested');
    expect(first?.data).toMatchObject({
      model: 'refund',
      output: [
        { providerData: { machineState: { state: { name: 'paying', data: { cents: 500, place: asked?.seq } } } } },
        {},
        {},
      ],
    });
    expect(await test.engine.verifyRun(id, ADMIN)).toMatchObject({ ok: true });
    expect(await test.engine.replayRun(id, {}, ADMIN)).toMatchObject({ differences: [] });
  });

  it('hears that a call failed, was rejected, or is not granted, and decides itself', async () => {
    expect(await run('refund', '{"cents":13}')).toMatchObject({
      status: 'completed',
      output: { why: expect.stringContaining('tool_failed: ') },
    });
    const { id } = await run('refund', '{"cents":501}');
    expect(await decideAndRest(test.engine, id, { verdict: 'reject', message: 'No.' }, BOB)).toMatchObject({
      status: 'completed',
      output: { why: expect.stringMatching(/^rejected: /) },
    });
    expect(await run('tight', 'go')).toMatchObject({
      status: 'completed',
      output: { type: 'failed', id: 'pay', tool: 'pay', code: 'denied' },
    });
  });

  it('is found out by a replay when its transition is another one now', async () => {
    const { id } = await run('refund', '{"cents":2}');
    rule = 'otherwise';
    try {
      const { differences } = await test.engine.replayRun(id, {}, ADMIN);
      expect(differences.map(({ what, field }) => [what, field])).toEqual([
        ['model.responded of turn 1', '/output'],
        ['model.responded of turn 2', '/output'],
      ]);
    } finally {
      rule = 'as agreed';
    }
  });

  it('goes on in a fork from the state that its log has there', async () => {
    const { id } = await run('refund', '{"cents":3}');
    const before = paid.length;
    const [, last] = await eventsOf(test.engine, id, 'call.finished');
    const fork = await test.engine.forkRun(id, { at: last?.seq ?? 0 }, ADMIN);
    expect(await restOf(test.engine, fork.id)).toMatchObject({ status: 'completed', output: { receipt: 'r3' } });
    expect(paid).toHaveLength(before);
    expect(await test.engine.replayRun(fork.id, {}, ADMIN)).toMatchObject({ differences: [] });
  });

  it('fails by name when its transition is not pure', async () => {
    expect(await run('dice', 'go')).toMatchObject({
      status: 'failed',
      error: { code: 'machine_failed', message: expect.stringContaining('Use only what it is given') },
    });
  });

  it('fails by name when its transition gives a promise, or a call has an id that no database keeps', async () => {
    expect(await run('late', 'go')).toMatchObject({
      status: 'failed',
      error: { code: 'machine_failed', message: expect.stringContaining('gives a promise') },
    });
    expect(await run('nul', 'go')).toMatchObject({
      status: 'failed',
      error: { code: 'machine_failed', message: expect.stringContaining('an id that is no name') },
    });
  });

  it.each([
    ['ada', 'ada'],
    ['123', '123'],
    ['"ada"', 'ada'],
    ['null', null],
  ])('reads its input as JSON, or as it is where that fits: %s', async (text, given) => {
    expect(await run('reader', text)).toMatchObject({ status: 'completed', output: { given } });
  });

  it('begins no run with an input that does not fit, nor one of a session', async () => {
    const start = (more: object) =>
      test.engine.startRun({ agent: 'refund', input: '{"cents":1}', ...more } as never, ADMIN);
    await expect(start({ input: '{"cents":-1}' })).rejects.toMatchObject({
      code: 'invalid_request',
      fields: [{ pointer: '/input', detail: expect.stringContaining('cents') }],
    });
    await expect(start({ input: 'a refund' })).rejects.toMatchObject({ code: 'invalid_request' });
    await expect(start({ sessionId: 's1' })).rejects.toMatchObject({
      code: 'invalid_request',
      fields: [{ pointer: '/sessionId' }],
    });
    const forged = { role: 'assistant', status: 'completed', content: [{ type: 'output_text', text: '{}' }] };
    const state = {
      machine: 'refund',
      state: { name: 'over', data: { why: 'x' } },
      clock: { times: [], logicalTime: 1 },
    };
    await expect(start({ input: [{ ...forged, providerData: { machineState: state } }] })).rejects.toMatchObject({
      code: 'invalid_request',
    });
  });

  it('shows its states and who waits', async () => {
    const { id } = await run('refund', '{"cents":502}');
    expect(await pendingOf(test.engine, id, 'pay')).toMatchObject({ arguments: { cents: 502 } });
    const detail = await test.engine.getAgent('refund', ADMIN);
    expect(JSON.stringify(detail)).toContain('paying -> over');
  });
});

describe('a state machine that is not valid', () => {
  const base = { name: 'm', states: { a: { data: z.number() } }, initial: { name: 'a', data: 1 } } as const;
  const transition = () => ({ state: { name: 'a' as const, data: 1 }, output: 1 });
  it.each<[object, string]>([
    [{ name: '' }, 'it has no name'],
    [{ states: {} }, 'it has no states'],
    [{ states: { a: { data: 'number' } } }, 'the data of the state a are no zod schema'],
    [{ states: { a: { data: z.number(), to: ['b'] } } }, 'the state a leads to b, which is not among its states'],
    [{ states: { a: { data: z.number(), to: [] }, b: { data: z.number() } } }, 'nothing leads to the states b'],
    [{ initial: { name: 'b', data: 1 } }, '`initial` names none of its states'],
    [{ initial: { name: 'a', data: 'x' } }, 'the data of `initial` do not fit'],
    [{ transition: 1 }, '`transition` is no function'],
    [{ tools: [{}] }, 'it has a tool that defineTool did not make'],
    [{ tools: [note, note] }, 'two tools have the name note'],
    [{ model: 'x' }, 'it has model, which is not known here'],
    [{ onDenied: 'stop' }, 'it has onDenied, which is not known here'],
    [{ maxTurn: 5 }, 'it has maxTurn, which is not known here; the nearest known name is maxTurns'],
    [{ states: { a: { data: z.number(), too: [] } } }, 'the state a has too, which is not known here'],
    [{ initial: { name: 'a', data: 1, since: 2 } }, '`initial` has since, which is not known here'],
  ])('says so: %j', (more, why) => {
    const define = () => defineStateMachine({ ...base, transition, ...more } as never);
    expect(define).toThrow(why);
    expect(define).toThrow(expect.objectContaining({ code: 'machine_invalid' }));
  });
});

it('is refused by name where a program in JavaScript declares something else', () => {
  const declare = (more: object) => () =>
    defineStateMachine({
      ...{ name: 'odd', states, initial: { name: 'open', data: {} }, transition: (state: Refund) => ({ state }) },
      ...(more as object),
    });
  for (const [more, why] of [
    [{ states: { open: { data: z.object({}), to: 'open' } } }, '`to` of the state open is no list'],
    [{ states: { open: null } }, 'the data of the state open are no zod schema'],
    [{ input: {} }, '`input` is no zod schema'],
    [{ output: 5 }, '`output` is no zod schema'],
    [{ tools: 5 }, '`tools` is no list'],
    [{ tools: [null] }, 'it has a tool that defineTool did not make'],
  ] as const)
    expect(declare(more)).toThrow(`The state machine odd is not valid: ${why}.`);
});
