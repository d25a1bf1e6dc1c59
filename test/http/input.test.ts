import { expect, it } from 'vitest';
import { z } from 'zod';
import { parseInput } from '../../src/http/input.js';

const query = z.strictObject({
  earlier: z.coerce.number().int().min(0),
  limit: z.coerce.number().int().min(1).default(50),
  cursor: z.string().regex(/^\d+$/, 'expected digits').optional(),
});

const wrongIn = (value: object): unknown => {
  try {
    return parseInput(query, value, '/query');
  } catch (error) {
    return Reflect.get(Object(error), 'fields');
  }
};

it('a parameter that is missing, or no number, is named as such', () => {
  expect(wrongIn({})).toEqual([{ pointer: '/query/earlier', detail: 'is missing; expected a number' }]);
  expect(wrongIn({ earlier: 'x', limit: 'many' })).toEqual([
    { pointer: '/query/earlier', detail: 'expected a number' },
    { pointer: '/query/limit', detail: 'expected a number' },
  ]);
  expect(wrongIn({ earlier: '3', limit: '7' })).toEqual({ earlier: 3, limit: 7 });
  expect(wrongIn({ earlier: '3', cursor: 'x' })).toEqual([{ pointer: '/query/cursor', detail: 'expected digits' }]);
});
