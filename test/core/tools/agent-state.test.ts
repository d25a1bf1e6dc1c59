import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../../src/core/json.js';
import { EMPTY_STATE, fold, stateHash } from '../../../src/core/log/state.js';
import { applyChange, CallState, LiveState, STATE_BYTES } from '../../../src/core/tools/agent-state.js';

const callOn = (value: JsonObject, version = 0, problemOf = (_value: JsonObject): string | null => null) =>
  new CallState({ version, value }, [problemOf]);

describe('the state that a call changes', () => {
  it('is a copy: each member that differs is one change', () => {
    const value = { a: { b: 1, c: 2 }, list: [1], gone: true, 'x/y~z': 0 };
    const call = callOn(value, 4);
    call.forTool.change((draft) => {
      Object.assign(draft, { a: { b: 1, c: 3 }, list: [1, 2], 'x/y~z': 1 });
      Reflect.deleteProperty(draft, 'gone');
    });
    expect(call.change).toEqual({
      seen: 4,
      changes: [
        { op: 'set', path: '/a/c', value: 3 },
        { op: 'set', path: '/list', value: [1, 2] },
        { op: 'remove', path: '/gone' },
        { op: 'set', path: '/x~1y~0z', value: 1 },
      ],
    });
    expect(value.a.c).toBe(2);
    expect(call.forTool.get()).toEqual({ a: { b: 1, c: 3 }, list: [1, 2], 'x/y~z': 1 });
    expect(applyChange({ version: 4, value }, call.change ?? { seen: 4, changes: [] })).toEqual({
      version: 5,
      value: call.forTool.get(),
    });
  });

  it('keeps what others added, and the later of two that set the same', () => {
    const value = { count: 1, list: ['a'], name: 'x' };
    const [one, two] = [callOn(value), callOn(value)];
    one.forTool.add('/count', 2);
    one.forTool.append('/list', 'b');
    one.forTool.change((draft) => Object.assign(draft, { name: 'one' }));
    two.forTool.add('/count', 5);
    two.forTool.append('/list', 'c', 'd');
    two.forTool.change((draft) => Object.assign(draft, { name: 'two' }));
    const live = new LiveState(() => null);
    live.begin(value);
    for (const { change } of [one, two]) expect(change && live.apply(change)).toBeNull();
    expect(live.present).toEqual({ version: 2, value: { count: 8, list: ['a', 'b', 'c', 'd'], name: 'two' } });
  });

  it('refuses by name what does not fit its schema, its bound or JSON, and keeps nothing of it', () => {
    const call = callOn({ n: 1 }, 0, (value) => (value['n'] === 1 ? null : 'n must be 1'));
    const text = 'x'.repeat(STATE_BYTES);
    for (const [edit, why] of [
      [{ n: 2 }, 'n must be 1'],
      [{ n: 1, text }, `its bound is ${STATE_BYTES}`],
      [{ n: 1n }, 'BigInt'],
    ] as const)
      expect(() => call.forTool.change((draft) => Object.assign(draft, edit))).toThrow(
        expect.objectContaining({ code: 'state_invalid', message: expect.stringContaining(why) }),
      );
    expect(() => call.forTool.add('n', 1)).toThrow(expect.objectContaining({ code: 'state_invalid' }));
    expect(call.change).toBeNull();
  });

  it('refuses a sum or a list in the place of something else, and what is no number', () => {
    const call = callOn({ list: [{ lines: [] }], text: 'x', n: 1 });
    const { add, append } = call.forTool;
    for (const [wrong, why] of [
      [() => add('/text', 1), 'something else at /text'],
      [() => append('/n', 1), 'something else at /n'],
      [() => append('/list/0/lines', 1), 'something else at /list '],
      [() => add('/n', Number.NaN), 'a finite number'],
      [() => add('/n', '5' as never), 'a finite number'],
      [() => add('/n', Number.MAX_VALUE), 'larger than any number'],
    ] as const)
      expect(wrong, why).toThrow(
        expect.objectContaining({ code: 'state_invalid', message: expect.stringContaining(why) }),
      );
    expect(call.forTool.get()).toEqual({ list: [{ lines: [] }], text: 'x', n: 1 });
  });

  it('refuses changes that would be lost: those of an async function, and those after the end of the call', async () => {
    const call = callOn({ n: 1 });
    const refused = (why: string) =>
      expect.objectContaining({ code: 'state_invalid', message: expect.stringContaining(why) });
    const late = async (draft: JsonObject): Promise<void> => {
      await Promise.resolve();
      Object.assign(draft, { n: 2 });
    };
    expect(() => call.forTool.change(late)).toThrow(refused('no async function'));
    call.forTool.add('/n', 1);
    call.end();
    expect(() => call.forTool.add('/n', 1)).toThrow(refused('has ended'));
    expect(call.change?.changes).toHaveLength(1);
  });

  it('never reaches a prototype', () => {
    const call = callOn({});
    call.forTool.append('/__proto__/polluted', 1);
    expect(Object.hasOwn(call.forTool.get(), '__proto__')).toBe(true);
    expect(({} as { polluted?: unknown }).polluted).toBeUndefined();
  });
});

describe('the state in the fold of a log', () => {
  const created = {
    ...{ agent: 'a', agentVersion: '1', agentHash: 'h', input: 'go', grants: [], policyVersion: 'p', metadata: {} },
    limits: { maxTurns: 1, maxTotalTokens: null, maxDurationMs: null },
  };
  const finished = (by: number) => ({
    ...{ callId: 'c', tool: 't' },
    outcome: {
      type: 'output' as const,
      output: 1,
      state: { seen: 0, changes: [{ op: 'add' as const, path: '/n', by }] },
    },
  });

  it('follows from the events, and is in no hash of a run without one', () => {
    const without = fold(EMPTY_STATE, 'run.created', created);
    expect(without).not.toHaveProperty('agentState');
    expect(fold(without, 'call.finished', finished(1))).not.toHaveProperty('agentState');
    const begun = fold(EMPTY_STATE, 'run.created', { ...created, state: { n: 1 } });
    expect(stateHash(begun)).not.toBe(stateHash(without));
    const { agentState: _own, ...rest } = begun;
    expect(stateHash(rest)).toBe(stateHash(without));
    expect(fold(begun, 'call.finished', finished(2)).agentState).toEqual({ version: 1, value: { n: 3 } });
  });

  it('has a hash also where two sums are too large together, which ends the run', () => {
    const large = finished(1e308);
    const begun = fold(EMPTY_STATE, 'run.created', { ...created, state: {} });
    expect(stateHash(fold(fold(begun, 'call.finished', large), 'call.finished', large))).toMatch(/^sha256:/);
    const live = new LiveState(() => null);
    live.begin({});
    expect(live.apply(large.outcome.state)).toBeNull();
    expect(live.apply(large.outcome.state)).toBe('the sum at /n is larger than any number of JSON');
  });
});
