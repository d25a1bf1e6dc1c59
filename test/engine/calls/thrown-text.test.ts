import { expect, test } from 'vitest';
import { textOf } from '../../../steps/calls/late-throws.js';

test.each([
  ['an error', new Error('boom'), 'boom'],
  ['a text', 'boom', 'boom'],
  ['nothing', undefined, 'undefined'],
  ['an object', { code: 7, detail: { why: 'boom' } }, "{ code: 7, detail: { why: 'boom' } }"],
  ['an object with a text of its own', { toString: () => 'boom' }, 'boom'],
  [
    'an object without a prototype',
    Object.assign(Object.create(null), { why: 'boom' }),
    "[Object: null prototype] { why: 'boom' }",
  ],
  ['a list', ['a', 'b'], 'a,b'],
])('what was thrown has a text: %s', (_title, thrown, text) => {
  expect(textOf(thrown)).toBe(text);
});

test('a text that cannot be had is none, and a long one is cut', () => {
  const broken = {
    toString: () => {
      throw new Error('no');
    },
  };
  expect(textOf(broken)).toContain('without a text');
  expect(textOf({ long: 'x'.repeat(100_000) }).length).toBeLessThan(2000);
});
