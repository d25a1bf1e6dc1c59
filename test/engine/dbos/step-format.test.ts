import { expect, it } from 'vitest';
import { STEP_FORMAT } from '../../../src/engine/dbos/launch-dbos.js';

const again = (value: unknown): unknown => STEP_FORMAT.parse(STEP_FORMAT.stringify(value));

it.each([
  ['null', null],
  ['a text with half a pair of surrogates', 'a\ud800'],
  ['an object', { a: [1, 'two', { three: null }] }],
  ['what looks like the format of DBOS', { json: 1, __dbos_serializer: 'superjson' }],
  ['a member that is undefined', { a: undefined, b: 1 }],
  ['undefined', undefined],
  ['a date', { at: new Date(0) }],
  ['a map', new Map([['a', 1]])],
])('gives back %s', (_name, value) => {
  expect(again(value)).toStrictEqual(value);
});

it('gives back an error as one', () => {
  expect(again(new RangeError('too far'))).toMatchObject({ name: 'RangeError', message: 'too far' });
});

it('keeps JSON as it is', () => {
  expect(STEP_FORMAT.stringify({ b: 1, a: [2] })).toBe('{"b":1,"a":[2]}');
  expect(STEP_FORMAT.parse(null)).toBeNull();
});
