import { Agent, tool } from '@openai/agents';
import { expect, it } from 'vitest';
import { defineAgent, functionModel } from '../../../src/index.js';
import { describeEachDatabase } from '../../harness/database.js';
import { dataOf, engineFor, runToRest } from '../../harness/engine.js';
import { resultsIn, say } from '../../harness/script.js';

/** A plain tool has no schema of ours: what is no object would reach its body as something else than what was judged. */

const given: unknown[] = [];
const note = tool({
  name: 'note',
  description: 'Notes.',
  strict: false,
  parameters: { type: 'object', properties: {}, required: [], additionalProperties: true },
  execute: (input) => {
    given.push(input);
    return 'noted';
  },
});
const texts = ['[]', '[{"a":1}]', '7', 'null', '"x"', '{"a":[1e999]}', '{"a":1}'];
const noter = new Agent({
  name: 'noter',
  tools: [note],
  model: functionModel('noter', async ({ input }) => {
    const text = texts[resultsIn(input).length];
    if (text === undefined) return [say('done')];
    const callId = `n${resultsIn(input).length}`;
    return [{ type: 'function_call', callId, name: 'note', arguments: text, status: 'completed' }];
  }),
});

describeEachDatabase('arguments that are no object', (kind) => {
  const test = engineFor(kind, { agents: [defineAgent({ agent: noter, grants: ['tool:call:note'] })] });

  it('are refused to the model, and reach no body', async () => {
    given.length = 0;
    const { id } = await runToRest(test.engine, 'noter');
    const outcomes = (await dataOf(test.engine, id, 'call.finished')).map(({ outcome }) => outcome);
    expect(outcomes).toHaveLength(texts.length);
    // Written again, it would be null.
    expect(outcomes.at(-2)).toMatchObject({
      ...{ type: 'refused', why: 'invalid_arguments' },
      message: expect.stringContaining('the number at /a/0 is beyond 1.8e308'),
    });
    for (const outcome of outcomes.slice(0, -2))
      expect(outcome).toMatchObject({
        ...{ type: 'refused', why: 'invalid_arguments' },
        message: 'The arguments of note are no JSON object. Send one JSON object.',
      });
    expect(outcomes.at(-1)).toMatchObject({ type: 'output', output: 'noted' });
    expect(given).toEqual([{ a: 1 }]);
  });
});
