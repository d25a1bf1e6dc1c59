import { describe, expect, it } from 'vitest';
import type { JsonValue } from '../../../src/core/json.js';
import {
  type Machine,
  type MachineContext,
  type MachineEvent,
  type MachineState,
  takeMachineTurn,
} from '../../../src/core/machines/machine.js';

type Transition = (state: MachineState, event: MachineEvent, context: MachineContext) => unknown;

const rule = (to: readonly string[] | null = null) => ({
  read: (data: unknown) => {
    if (typeof data !== 'number' && typeof data !== 'string') throw new Error('expected a number');
    return data as JsonValue;
  },
  to: to === null ? null : new Set(to),
});

const machineOf = (transition: Transition): Machine => ({
  ...{ name: 'm', initial: { name: 'open', data: 0 }, tools: new Set(['pay', 'look']), transition },
  states: new Map([
    ['open', rule(['paid'])],
    ['paid', rule()],
  ]),
  outputProblem: (output) => (output === 'bad' ? 'it is bad' : null),
});

const INPUT: MachineEvent = { type: 'input', input: 'go' };
const turn = (transition: Transition, events: readonly MachineEvent[] = [INPUT], now = () => 7) =>
  takeMachineTurn(machineOf(transition), { name: 'open', data: 0 }, events, { now, logicalTime: 3 });
const open = (more: object = {}) => ({ state: { name: 'open', data: 1 }, ...more });
const pay = { tool: 'pay', arguments: { cents: 5 } };

describe('a state machine', () => {
  it('goes on with the calls of its transition, whose ids are their tools', () => {
    expect(turn(() => open({ calls: [pay, { ...pay, id: 'again' }] }))).toEqual({
      state: { name: 'open', data: 1 },
      clock: { times: [], logicalTime: 3 },
      next: {
        type: 'calls',
        calls: [
          { id: 'pay', tool: 'pay', arguments: { cents: 5 } },
          { id: 'again', tool: 'pay', arguments: { cents: 5 } },
        ],
      },
    });
  });

  it('takes one event after the other, each from the state that the one before led to', () => {
    const seen: JsonValue[] = [];
    const ended = (id: string): MachineEvent => ({ type: 'output', id, tool: 'pay', output: id });
    const { next, state } = turn(
      ({ data }, event) => {
        seen.push([data, event.type === 'output' ? event.id : '']);
        return Number(data) < 1
          ? { state: { name: 'open', data: Number(data) + 1 } }
          : { state: { name: 'paid', data: 2 }, output: 'done' };
      },
      [ended('a'), ended('b'), ended('c')],
    );
    expect({ next, state }).toEqual({ next: { type: 'output', output: 'done' }, state: { name: 'paid', data: 2 } });
    // Each is executed twice; what comes behind an output is told to none.
    expect(seen).toEqual([
      [0, 'a'],
      [1, 'b'],
      [0, 'a'],
      [1, 'b'],
    ]);
  });

  it('is told the recorded time again', () => {
    const step: Transition = (_state, _event, { now, logicalTime }) => open({ output: [now(), now(), logicalTime] });
    let time = 100;
    const first = turn(step, [INPUT], () => time++);
    expect(first.next).toEqual({ type: 'output', output: [100, 101, 3] });
    const again = takeMachineTurn(machineOf(step), { name: 'open', data: 0 }, [INPUT], { recorded: first.clock });
    expect(again).toEqual(first);
  });

  it('keeps a state whose data its transition changes in place', () => {
    const state = { name: 'open', data: 0 };
    const step: Transition = (given) => {
      Object.assign(given, { data: 9 });
      return open({ output: 1 });
    };
    takeMachineTurn(machineOf(step), state, [INPUT], { now: () => 0, logicalTime: 1 });
    expect(state).toEqual({ name: 'open', data: 0 });
  });

  it.each<[string, Transition, string]>([
    [
      'throws',
      () => {
        throw new Error('no luck');
      },
      'in the state open, on its input: no luck.',
    ],
    ['gives nothing', () => undefined, 'gives no { state: { name, data }, calls?, output? }'],
    ['gives a promise', async () => open({ output: 1 }), 'gives a promise'],
    ['gives calls that are no list', () => open({ calls: 'pay' }), 'gives no { state'],
    [
      'gives a member that is not known',
      () => open({ call: [pay] }),
      'gives call, which is not known here; the nearest',
    ],
    [
      'gives more of a state',
      () => ({ state: { name: 'open', data: 1, since: 2 }, output: 1 }),
      'gives a state with since, which is not known here',
    ],
    [
      'calls with a member that is not known',
      () => open({ calls: [{ tool: 'pay', args: {} }] }),
      'one of its calls has args, which is not known here',
    ],
    ['waits for nothing', () => open(), 'it makes no call and gives no output'],
    [
      'comes to an unknown state',
      () => ({ state: { name: 'lost', data: 1 } }),
      'the state lost, which it does not have; it has open, paid',
    ],
    [
      'has data that do not fit',
      () => ({ state: { name: 'open', data: {} } }),
      'do not fit the state open: expected a number',
    ],
    [
      'has data that are too large',
      () => ({ state: { name: 'open', data: 'x'.repeat(70_000) } }),
      'are 70002 bytes; the limit is 65536',
    ],
    ['ends and calls', () => open({ output: 1, calls: [pay] }), 'it gives an output and makes calls: pay'],
    ['gives an output that does not fit', () => open({ output: 'bad' }), 'its output does not fit: it is bad'],
    [
      'calls a tool that is not its own',
      () => open({ calls: [{ tool: 'rm', arguments: {} }] }),
      'it calls rm, which is not among its tools: pay, look',
    ],
    ['calls with a text', () => open({ calls: [{ tool: 'pay', arguments: 'x' }] }), 'arguments that are no object'],
    ['makes two calls of one id', () => open({ calls: [pay, pay] }), 'it makes two calls pay at once'],
    [
      'makes too many calls',
      () => open({ calls: Array.from({ length: 101 }, (_, n) => ({ ...pay, id: `p${n}` })) }),
      'more than 100 calls',
    ],
    [
      'reads the clock too often',
      (_s, _e, { now }) => open({ output: Array.from({ length: 33 }, () => now()) }),
      'more than 32 times',
    ],
    ['rolls dice', () => open({ output: Math.random() }), 'gave something else the second time'],
    [
      'calls with an id that no log can carry',
      () => open({ calls: [{ ...pay, id: 'a\ud800' }] }),
      'an id that is no name',
    ],
    ['gives an output that JSON cannot carry', () => open({ output: 1n }), 'BigInt'],
  ])('fails by name when its transition %s', (_what, transition, why) => {
    expect(() => turn(transition)).toThrow(why);
    expect(() => turn(transition)).toThrow('The state machine m failed: in the state open, on its input: ');
    expect(() => turn(transition)).toThrow(expect.objectContaining({ code: 'machine_failed' }));
  });

  it('fails where it counts outside of its state', () => {
    let count = 0;
    expect(() => turn(() => open({ output: count++ }))).toThrow('Use only what it is given');
  });

  it('leaves a state only for those that may follow it', () => {
    const back: Transition = () => ({ state: { name: 'open', data: 1 }, output: 1 });
    const machine = machineOf(back);
    const closed = {
      ...machine,
      states: new Map([
        ['open', rule([])],
        ['paid', rule([])],
      ]),
    };
    expect(() => takeMachineTurn(closed, { name: 'paid', data: 0 }, [INPUT], { now: () => 0, logicalTime: 1 })).toThrow(
      'it goes from paid to open, which is not among its `to`: none',
    );
    expect(() =>
      takeMachineTurn(closed, { name: 'open', data: 0 }, [INPUT], { now: () => 0, logicalTime: 1 }),
    ).not.toThrow();
  });
});
