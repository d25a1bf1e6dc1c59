import { expect, it } from 'vitest';
import { plainStep, shapedBy } from '../../../src/core/agents/scaffold.js';

/** What of a call a scaffold says that shapes nothing. */

const stepOf = (given: Parameters<typeof plainStep>[0]['arguments']) =>
  shapedBy(
    { name: 'plain', step: (call) => plainStep(call, undefined) },
    { callId: 'c', tool: 'write', arguments: given, outcome: { type: 'output', output: 'ok' } },
  ).note?.actionTaken;

it('has the arguments of a call, and long ones cut so that they fit', () => {
  expect(stepOf({ path: '/work/a', text: 'short' })).toEqual({
    tool: 'write',
    arguments: { path: '/work/a', text: 'short' },
  });
  expect(stepOf({ path: '/work/a', text: 'x'.repeat(100_000), more: [1], edits: ['y'.repeat(300)] })).toEqual({
    tool: 'write',
    arguments: { path: '/work/a', text: `${'x'.repeat(200)}… (99800 more characters)`, more: [1], edits: null },
  });
  expect(stepOf(Object.fromEntries(Array.from({ length: 10_000 }, (_, at) => [`a${at}`, at])))).toMatchObject({
    arguments: null,
  });
  expect(stepOf('x'.repeat(100_000))).toMatchObject({ arguments: expect.stringMatching(/^x{200}… \(/) });
  expect(stepOf(['x'.repeat(100_000)])).toMatchObject({ arguments: null });
});
