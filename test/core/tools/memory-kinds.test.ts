import { describe, expect, it } from 'vitest';
import type { StateOp } from '../../../src/core/tools/agent-state.js';
import { assertExtending } from '../../../src/core/tools/memory-kinds.js';

const document = { name: 'Ann', n: 1, list: [1], address: { city: 'Bonn' }, none: null };
const problemOf = (...ops: StateOp[]): string | null => {
  try {
    assertExtending(document, ops);
    return null;
  } catch (error) {
    expect(error).toMatchObject({ code: 'memory_invalid' });
    return error instanceof Error ? error.message : String(error);
  }
};
const add = (path: string): StateOp => ({ op: 'add', path, by: 1 });
const append = (path: string): StateOp => ({ op: 'append', path, values: [1] });
const set = (path: string): StateOp => ({ op: 'set', path, value: 'x' });

describe('a change of a document', () => {
  it.each([
    ['a sum of a text', add('/name'), '/name'],
    ['a sum of a list', add('/list'), '/list'],
    ['a sum of an object', add('/address'), '/address'],
    ['a sum of null', add('/none'), '/none'],
    ['an item of a number', append('/n'), '/n'],
    ['an item of an object', append('/address'), '/address'],
    ['a member of a text', set('/name/first'), '/name'],
    ['a sum in a text', add('/address/city/n'), '/address/city'],
    ['a member of a list', append('/list/0'), '/list'],
  ])('is refused where it would replace something else: %s', (_what, op, at) => {
    expect(problemOf(op)).toContain(`There is something else at ${at}:`);
  });

  it('is taken where there is nothing, or what it extends', () => {
    expect(problemOf(add('/n'), append('/list'), add('/new/n'), append('/address/streets'), set('/name'))).toBeNull();
    expect(problemOf({ op: 'remove', path: '/name/first' }, { op: 'remove', path: '/no/such' })).toBeNull();
    expect(problemOf(add('/constructor'), append('/__proto__/toString'))).toBeNull();
  });

  it('is looked at in the order of its operations', () => {
    expect(problemOf({ op: 'remove', path: '/name' }, add('/name'), add('/name'))).toBeNull();
    expect(problemOf(set('/n'), add('/n'))).toContain('/n:');
    expect(problemOf({ op: 'set', path: '/n', value: {} }, append('/n/list'), add('/n/list'))).toContain('/n/list:');
  });
});
