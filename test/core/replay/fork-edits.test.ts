import { describe, expect, it } from 'vitest';
import type { JsonValue } from '../../../src/core/json.js';
import type { EventDraft } from '../../../src/core/log/event.js';
import { applyEdits, callIdsOf, type ForkEdit } from '../../../src/core/replay/fork-edits.js';

const usage = { inputTokens: 1, outputTokens: 1, totalTokens: 2 };
const ask = (callId: JsonValue) => ({ type: 'function_call', callId, name: 'pay', arguments: '{}' });
const event = (kind: string, data: object) => ({ key: kind, parentKey: null, kind, data }) as unknown as EventDraft;
const requested = (turn: number) => event('model.requested', { turn });
const responded = (turn: number, ...calls: string[]) =>
  event('model.responded', { turn, agent: 'a', model: 'm', responseId: null, output: calls.map(ask), usage });
const checked = (callId: string) => event('call.checked', { callId });
const started = (callId: string) => event('call.started', { callId });
const finished = (callId: string) =>
  event('call.finished', { callId, tool: 'pay', outcome: { type: 'output', output: 1 }, given: { type: 'x' } });

const LOG = [
  requested(1),
  responded(1, 'a', 'b'),
  ...[checked('a'), checked('b'), started('a'), finished('a'), finished('b')],
  ...[requested(2), responded(2, 'c'), checked('c'), started('c'), finished('c'), event('run.completed', {})],
];
const kinds = (...edits: ForkEdit[]) => applyEdits(LOG, edits).map(({ kind }) => kind);
const outcome = { type: 'output', output: 2 } as const;
const refused = (edits: readonly ForkEdit[]) => {
  try {
    applyEdits(LOG, edits);
    return 'accepted';
  } catch (error) {
    const { code, fields } = error as { code: string; fields: { pointer: string }[] };
    return `${code} ${fields[0]?.pointer}`;
  }
};

describe('applyEdits', () => {
  it('changes nothing without edits', () => {
    expect(applyEdits(LOG, [])).toEqual(LOG);
  });

  it('ends with the edited answer of a model', () => {
    const output = [ask('z')];
    const edited = applyEdits(LOG, [{ turn: 1, output }]);
    expect(edited.map(({ kind }) => kind)).toEqual(['model.requested', 'model.responded']);
    expect(edited.at(-1)).toMatchObject({ data: { turn: 1, output, usage } });
  });

  it('keeps what happened beside an edited outcome until a model read it', () => {
    expect(kinds({ callId: 'a', outcome })).toEqual([
      ...['model.requested', 'model.responded', 'call.checked', 'call.checked'],
      ...['call.started', 'call.finished', 'call.finished'],
    ]);
  });

  it('drops what a tool gave in place of the outcome that was edited', () => {
    const [edited] = applyEdits(LOG, [{ callId: 'a', outcome }]).filter(({ kind }) => kind === 'call.finished');
    expect(edited?.data).toEqual({ callId: 'a', tool: 'pay', outcome });
  });

  it('leaves the events that it was given as they are', () => {
    const before = structuredClone(LOG);
    applyEdits(LOG, [{ callId: 'a', outcome }]);
    expect(LOG).toEqual(before);
  });

  it.each<[string, ForkEdit[], string]>([
    ['a turn that the log does not have', [{ turn: 9, output: [] }], 'fork_invalid /edits/0'],
    ['a call that the log does not have', [{ callId: 'x', outcome }], 'fork_invalid /edits/0'],
    ['a call that never ran', [{ callId: 'b', outcome }], 'fork_invalid /edits/0'],
    [
      'the same outcome twice',
      [
        { callId: 'a', outcome },
        { callId: 'a', outcome },
      ],
      'fork_invalid /edits/1',
    ],
    [
      'an outcome that an earlier edit changes',
      [
        { callId: 'a', outcome },
        { callId: 'c', outcome },
      ],
      'fork_invalid /edits/1',
    ],
    [
      'an outcome that an earlier edit changes, in the other order',
      [
        { callId: 'c', outcome },
        { turn: 1, output: [] },
      ],
      'fork_invalid /edits/0',
    ],
    ['a call id of an earlier turn', [{ turn: 2, output: [ask('a')] }], 'fork_invalid /edits/0/output'],
    ['one call id twice', [{ turn: 2, output: [ask('z'), ask('z')] }], 'fork_invalid /edits/0/output'],
    ['a call without an id', [{ turn: 2, output: [ask('')] }], 'fork_invalid /edits/0/output'],
    ['a call whose id is no text', [{ turn: 2, output: [ask(7)] }], 'fork_invalid /edits/0/output'],
  ])('refuses %s', (_, edits, expected) => {
    expect(refused(edits)).toBe(expected);
  });

  it('lets an edited answer keep the call ids of the answer in its place', () => {
    expect(refused([{ turn: 2, output: [ask('c')] }])).toBe('accepted');
  });
});

describe('callIdsOf', () => {
  it('gives the ids of function calls alone, and null for none', () => {
    const output = [{ type: 'message', callId: 'm' }, ask('a'), { type: 'function_call' }];
    expect(callIdsOf(output as Parameters<typeof callIdsOf>[0])).toEqual(['a', null]);
  });
});
