import { expect, test } from 'vitest';
import { z } from 'zod';
import { HoldfastError } from '../../../src/core/errors/errors.js';
import { idempotencyKey } from '../../../src/core/operations/fields.js';
import { NO_INPUT } from '../../../src/core/operations/operation.js';
import { startRun } from '../../../src/core/runs/run.js';
import { parseInput } from '../../../src/http/input.js';
import { guarded } from '../../../src/http/route.js';

function fieldsOf(schema: z.ZodType, value: unknown, prefix = ''): HoldfastError['fields'] {
  try {
    parseInput(schema, value, prefix);
  } catch (error) {
    if (error instanceof HoldfastError && error.code === 'invalid_request') return error.fields;
    throw error;
  }
  return [];
}

const pointers = (schema: z.ZodType, value: unknown, prefix?: string) =>
  fieldsOf(schema, value, prefix).map((field) => field.pointer);

test('what fits comes back parsed', () => {
  expect(parseInput(z.object({ limit: z.coerce.number() }), { limit: '5' }, '/query')).toEqual({ limit: 5 });
});

test('every wrong field is named by its pointer', () => {
  expect(pointers(startRun, { agent: 1, input: [], maxTurns: 0 })).toEqual(['/agent', '/input', '/maxTurns']);
  expect(pointers(z.object({ limit: z.coerce.number() }), { limit: 'x' }, '/query')).toEqual(['/query/limit']);
});

test('unknown fields are refused one by one, also inside', () => {
  expect(pointers(startRun, { agent: 'a', input: 'b', foo: 1, bar: 2 })).toEqual(['/foo', '/bar']);
  expect(
    pointers(startRun, { agent: 'a', input: 'b', grants: [{ capability: 'a:b:c', effect: 'allow', extra: 1 }] }),
  ).toEqual(['/grants/0/extra']);
});

test('of a union the branch that got furthest speaks', () => {
  expect(pointers(startRun, { agent: 'a', input: [{}, 'text'] })).toEqual(['/input/1']);
  expect(fieldsOf(startRun, { agent: 'a', input: 5 })).toEqual([
    {
      pointer: '/input',
      detail: 'Invalid input: expected string, received number, or Invalid input: expected array, received number',
    },
  ]);
});

test('pointers escape what RFC 6901 reserves', () => {
  expect(pointers(z.object({ 'a/b': z.object({ 'c~d': z.string() }) }), { 'a/b': { 'c~d': 1 } })).toEqual([
    '/a~1b/c~0d',
  ]);
});

test.each([null, [], 'text', 5, true])('a body of %j is not a request', (value) => {
  expect(pointers(startRun, value)).toEqual(['']);
});

test.each([
  ['abc', 'abc'],
  ['"abc"', 'abc'],
  [String.raw`"a\"b\\c"`, String.raw`a"b\c`],
  ['8e03978e-40d5-43dd-bc93-6894a57f9324', '8e03978e-40d5-43dd-bc93-6894a57f9324'],
  ['x'.repeat(255), 'x'.repeat(255)],
])('the Idempotency-Key %s', (header, key) => expect(idempotencyKey.parse(header)).toBe(key));

test.each(['', '""', '"a b"', 'a b', 'a, b', 'schlüssel', 'x'.repeat(256), `"${'x'.repeat(256)}"`])(
  'the Idempotency-Key %s is refused',
  (header) => expect(idempotencyKey.safeParse(header).success).toBe(false),
);

test('NUL that the database did not keep is named by its place in the body', async () => {
  const route = guarded({
    ...NO_INPUT,
    ...{ method: 'POST', path: '/api/v1/x', operationId: 'listSpend', summary: 'x', access: 'shared', errors: [] },
    response: z.object({}),
    body: z.object({ list: z.array(z.string()), kept: z.string() }),
    handle: () => Promise.reject(Object.assign(new Error('invalid byte sequence'), { code: '22021' })),
  });
  const call = (body: unknown) =>
    route.call({ path: {}, query: {}, header: {}, body }, {} as Parameters<typeof route.call>[1]);
  await expect(call({ list: ['a', 'b\u0000'], kept: 'x' })).rejects.toMatchObject({
    code: 'invalid_request',
    fields: [{ pointer: '/list/1', detail: expect.stringContaining('NUL') }],
  });
  await expect(call({ list: [], kept: 'x' })).rejects.toMatchObject({ code: '22021' });
});
