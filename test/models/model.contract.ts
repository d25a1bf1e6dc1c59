import {
  Agent,
  type Model,
  type ModelRequest,
  type ModelResponse,
  Runner,
  setTracingDisabled,
  tool,
  withTrace,
} from '@openai/agents';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { ModelDelta } from '../../src/core/log/delta.js';
import { classifyModelFailure } from '../../src/models/failures/model-failure.js';
import { streamedResponse } from '../../src/models/providers/streamed-response.js';
import { requestOf, weatherTool } from './requests.js';

export const HELLO = 'Grüße, 世界! 👩‍🚀 ok';
export const FINAL = 'It is 12 degrees.';
export const FORM = { degrees: 12 };

/** What a model under test is made to do. */
export type Scenario =
  | 'text' // answers HELLO
  | 'calls' // calls weather for Oslo and Rome in one answer
  | 'agent' // calls weather for Oslo, then answers FINAL
  | 'form' // answers FORM as JSON
  | 'slow'; // never ends

export interface OpenModel extends AsyncDisposable {
  readonly model: Model;
  /** Settles when the server saw that its client is gone; undefined: there is no server. */
  readonly abandoned?: Promise<void>;
  /** Settles when the server has the request; undefined: there is no server. */
  readonly arrived?: Promise<void>;
}

export interface ModelUnderTest {
  readonly name: string;
  readonly open: (scenario: Scenario) => Promise<OpenModel>;
}

export const MODES = ['whole', 'streamed'] as const;
export type Mode = (typeof MODES)[number];

setTracingDisabled(true);

/** One call as the engine makes it. `seen` hears each piece as it comes. */
export const call = (
  model: Model,
  request: ModelRequest,
  mode: Mode,
  seen: ModelDelta[] = [],
): Promise<ModelResponse> =>
  // The SDK's own models want a trace around each call; the Runner has one.
  withTrace('contract', () =>
    mode === 'whole' ? model.getResponse(request) : streamedResponse(model, request, (delta) => seen.push(delta)),
  );

export const textIn = (output: ModelResponse['output']): string =>
  output
    .flatMap((item) => ('role' in item && item.role === 'assistant' ? item.content : []))
    .map((part) => (part.type === 'output_text' ? part.text : ''))
    .join('');

const weather = tool({
  name: 'weather',
  description: 'The weather of a city.',
  parameters: z.object({ city: z.string() }),
  execute: ({ city }) => `12 degrees in ${city}`,
});

async function finalOutput(agent: Agent, mode: Mode): Promise<unknown> {
  const runner = new Runner({ tracingDisabled: true });
  if (mode === 'whole') return (await runner.run(agent, 'Oslo?')).finalOutput;
  const result = await runner.run(agent, 'Oslo?', { stream: true });
  await result.completed;
  return result.finalOutput;
}

/** What the engine needs of every model. */
export function modelContract({ name, open }: ModelUnderTest): void {
  describe(`${name}, as a model`, () => {
    it.each(MODES)('answers with a text, an id and the tokens that it took, %s', async (mode) => {
      await using opened = await open('text');
      const seen: ModelDelta[] = [];
      const response = await call(opened.model, requestOf({}), mode, seen);
      expect(textIn(response.output)).toBe(HELLO);
      expect(response.responseId).toMatch(/\S/);
      expect(response.usage.requests).toBe(1);
      expect(response.usage.inputTokens).toBeGreaterThan(0);
      expect(response.usage.totalTokens).toBe(response.usage.inputTokens + response.usage.outputTokens);
      const streamed = seen.map(({ type, delta }) => (type === 'text' ? delta : '')).join('');
      expect(streamed).toBe(mode === 'whole' ? '' : HELLO);
    });

    it('streams: started once and first, done once and last', async () => {
      await using opened = await open('text');
      const types = await withTrace('contract', async () => {
        const all: string[] = [];
        for await (const { type } of opened.model.getStreamedResponse(requestOf({}))) all.push(type);
        return all.filter((type) => type !== 'output_text_delta' && type !== 'model');
      });
      expect(types).toEqual(['response_started', 'response_done']);
    });

    it.each(MODES)('gives several calls of one answer apart, %s', async (mode) => {
      await using opened = await open('calls');
      const { output } = await call(opened.model, requestOf({ tools: [weatherTool] }), mode);
      const calls = output.filter((item) => item.type === 'function_call');
      expect(calls.map((one) => [one.name, JSON.parse(one.arguments)])).toEqual([
        ['weather', { city: 'Oslo' }],
        ['weather', { city: 'Rome' }],
      ]);
      expect(new Set(calls.map((one) => one.callId)).size).toBe(2);
    });

    it.each(MODES)('serves an agent with a tool, %s', async (mode) => {
      await using opened = await open('agent');
      const agent = new Agent({ name: 'Weather', model: opened.model, tools: [weather] });
      expect(await finalOutput(agent, mode)).toBe(FINAL);
    });

    it.each(MODES)('serves an agent that declares the form of its answer, %s', async (mode) => {
      await using opened = await open('form');
      const outputType = z.object({ degrees: z.number() });
      const agent = new Agent({ name: 'Weather', model: opened.model, outputType });
      const runner = new Runner({ tracingDisabled: true });
      if (mode === 'whole') {
        expect((await runner.run(agent, 'Oslo?')).finalOutput).toEqual(FORM);
        return;
      }
      const result = await runner.run(agent, 'Oslo?', { stream: true });
      await result.completed;
      expect(result.finalOutput).toEqual(FORM);
    });

    it.each(MODES)('ends when its signal fires, although the server never answers, %s', async (mode) => {
      await using opened = await open('slow');
      const abort = new AbortController();
      const ended = call(opened.model, requestOf({ signal: abort.signal }), mode).then(
        () => 'it gave an answer',
        (caught: unknown) => caught,
      );
      // A request that has not left yet when the signal fires never leaves, and no server sees its client go.
      await opened.arrived;
      setTimeout(() => abort.abort(new Error('cancelled by a person')), 20);
      const error: unknown = await ended;
      expect(error).toBeInstanceOf(Error);
      expect(classifyModelFailure(error).retryable).toBe(false);
      await opened.abandoned;
    });

    it.each(MODES)('does not begin when its signal has fired, %s', async (mode) => {
      await using opened = await open('text');
      const request = requestOf({ signal: AbortSignal.abort() });
      await expect(call(opened.model, request, mode)).rejects.toThrow();
    });
  });
}
