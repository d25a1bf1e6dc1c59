import { Agent, type ModelRequest, Runner, tool } from '@openai/agents';
import { describe, expect, it, vi } from 'vitest';
import { z } from 'zod';
import { scriptedModel } from '../../src/library/script.js';
import { functionModel } from '../../src/models/providers/function-model.js';
import { callItem, requestOf, textItem } from './requests.js';

const script = (request: ModelRequest) =>
  Array.isArray(request.input) && request.input.some((item) => item.type === 'function_call_result')
    ? [textItem('It is 12 degrees.')]
    : [callItem('weather', { city: 'Oslo' })];

describe('a scripted model', () => {
  it('gives equal answers to equal requests, ids and usage included', async () => {
    const first = await functionModel('weather', script).getResponse(requestOf({ input: 'Oslo?' }));
    const second = await functionModel('weather', script).getResponse(requestOf({ input: 'Oslo?' }));
    expect(second).toEqual(first);
    expect(first.responseId).toMatch(/^resp_[0-9a-f]{24}$/);
    expect(first.output[0]).toMatchObject({
      type: 'function_call',
      callId: expect.stringMatching(/^call_[0-9a-f]{24}_0$/),
    });
  });

  it('gives another call id to another request', async () => {
    const model = functionModel('weather', script);
    const [one, two] = await Promise.all(['a', 'b'].map((input) => model.getResponse(requestOf({ input }))));
    expect(one?.output).not.toEqual(two?.output);
  });

  it('counts one token per 4 characters', async () => {
    const model = functionModel('m', () => [textItem('x'.repeat(400))]);
    const small = (await model.getResponse(requestOf({ input: 'hi' }))).usage;
    const large = (await model.getResponse(requestOf({ input: `hi${'y'.repeat(400)}` }))).usage;
    expect(large.inputTokens - small.inputTokens).toBe(100);
    expect(small).toMatchObject({ requests: 1, totalTokens: small.inputTokens + small.outputTokens });
    expect(small.outputTokens).toBeGreaterThanOrEqual(100);
  });

  it('keeps the usage and the id of a whole response', async () => {
    const whole = await functionModel('m', () => [textItem('a')]).getResponse(requestOf({}));
    const again = functionModel('n', () => ({ ...whole, responseId: 'mine' }));
    expect(await again.getResponse(requestOf({ input: 'other' }))).toMatchObject({
      responseId: 'mine',
      usage: { inputTokens: whole.usage.inputTokens },
    });
  });

  it('runs an agent with a tool, streamed or not, to the same end', async () => {
    const weather = tool({
      name: 'weather',
      description: 'The weather of a city.',
      parameters: z.object({ city: z.string() }),
      execute: ({ city }) => `12 degrees in ${city}`,
    });
    const agent = new Agent({ name: 'Weather', model: functionModel('weather', script), tools: [weather] });
    const runner = new Runner({ tracingDisabled: true });
    const plain = await runner.run(agent, 'Oslo?');
    const streamed = await runner.run(agent, 'Oslo?', { stream: true });
    await streamed.completed;
    expect(plain.finalOutput).toBe('It is 12 degrees.');
    expect(streamed.finalOutput).toBe(plain.finalOutput);
    expect(streamed.rawResponses.map((r) => r.usage.totalTokens)).toEqual(
      plain.rawResponses.map((r) => r.usage.totalTokens),
    );
  });

  it('takes its time, also one that is longer than a timer of Node holds', async () => {
    vi.useFakeTimers();
    try {
      const days60 = 60 * 24 * 3_600_000;
      let answered = false;
      const model = functionModel('m', () => [textItem('late')], { delayMs: days60 });
      const answer = model.getResponse(requestOf({})).finally(() => {
        answered = true;
      });
      await vi.advanceTimersByTimeAsync(days60 - 1);
      expect(answered).toBe(false);
      await vi.advanceTimersByTimeAsync(1);
      expect((await answer).output).toMatchObject([{ content: [{ text: 'late' }] }]);
    } finally {
      vi.useRealTimers();
    }
  });

  it('passes on what the script throws', async () => {
    const model = functionModel('m', () => {
      throw new Error('script: no such line');
    });
    await expect(model.getResponse(requestOf({}))).rejects.toThrow('script: no such line');
  });
});

it.each([
  [
    'an unknown option',
    () => functionModel('m', () => [], { delay: 5 } as object),
    'delay: is not known here; the nearest known name is delayMs',
  ],
  [
    'a time that is none',
    () => functionModel('m', () => [], { delayMs: Number.NaN }),
    'delayMs: expected milliseconds',
  ],
  [
    'a time without end',
    () => functionModel('m', () => [], { delayMs: Number.POSITIVE_INFINITY }),
    'delayMs: expected milliseconds',
  ],
  ['options that are none', () => functionModel('m', () => [], 5 as unknown as object), 'options: expected an object'],
  ['no function', () => functionModel('m', [] as never), 'respond: expected a function'],
  ['no name', () => functionModel('', () => []), 'name: expected a text'],
  [
    'an unknown option of a script',
    () => scriptedModel([], { delayMS: 5 } as object),
    'the nearest known name is delayMs',
  ],
  ['a time of a script that is none', () => scriptedModel([], { delayMs: -1 }), 'delayMs: expected milliseconds'],
])('is refused with %s', (_name, make, message) => {
  expect(make).toThrow(expect.objectContaining({ code: 'config_invalid', message: expect.stringContaining(message) }));
});
