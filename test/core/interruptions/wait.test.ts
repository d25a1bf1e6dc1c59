import { expect, it } from 'vitest';
import { waitFor } from '../../../src/core/interruptions/wait.js';

const event = { kind: 'event', name: 'invoice.paid' };

it.each([
  ['nothing', null],
  ['nothing at all', undefined],
  ['a text', 'timer'],
  ['a list', []],
  ['an unknown kind', { kind: 'moon' }],
  ['a memo that is no number', { ...event, memo: Number.NaN }],
  ['a memo that is a function', { ...event, memo: () => 1 }],
  ['a memo with a function in it', { ...event, memo: { a: [() => 1] } }],
  ['a memo that is too long', { ...event, memo: 'x'.repeat(65_536) }],
])('%s cannot be waited for, and the error has a name', (_what, request) => {
  expect(() => Reflect.apply(waitFor, null, [request])).toThrow(expect.objectContaining({ code: 'wait_invalid' }));
});

it('a memo may be any JSON', () => {
  for (const memo of [null, 0, '', [], { a: [1, { b: null }] }])
    expect(Reflect.apply(waitFor, null, [{ ...event, memo }])).toMatchObject({ memo });
});
