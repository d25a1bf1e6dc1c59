import {
  Agent,
  type Model,
  type ModelRequest,
  type ModelResponse,
  type protocol,
  Runner,
  type StreamEvent,
  setTracingDisabled,
  tool,
  withTrace,
} from '@openai/agents';
import { describe, expect, it, vi } from 'vitest';
import { z } from 'zod';
import { classifyModelFailure } from '../../src/models/model-failure.js';
import { requestOf, weatherTool } from './requests.js';

export const HELLO = 'Grüße, 世界! 👩‍🚀 ok';
export const FINAL = 'It is 12 degrees.';
export const SECRET = 'sk-contract-secret-0123456789';

/** What a model under test is made to do. */
export type Scenario =
  | 'text' // answers HELLO
  | 'calls' // calls weather for Oslo and Rome in one answer
  | 'agent' // calls weather for Oslo, then answers FINAL
  | 'slow'; // never ends

/** How a server breaks. */
export type Fault = 'page' | 'reset' | 'cut' | 'said';

export interface OpenModel extends AsyncDisposable {
  readonly model: Model;
  /** Settles when the server saw that its client is gone; undefined: there is no server. */
  readonly abandoned?: Promise<void>;
}

export interface ModelUnderTest {
  readonly name: string;
  readonly open: (scenario: Scenario) => Promise<OpenModel>;
  /** Null: no server, so that nothing can break. */
  readonly openBroken: ((fault: Fault) => Promise<OpenModel>) | null;
}

/** The SDK's own models want a trace around each call; the Runner has one. */
const whole = (model: Model, request: ModelRequest): Promise<ModelResponse> =>
  withTrace('contract', () => model.getResponse(request));

/** `seen` hears each event as it comes, also when the stream fails later. */
const streamed = (model: Model, request: ModelRequest, seen: StreamEvent[] = []): Promise<StreamEvent[]> =>
  withTrace('contract', async () => {
    for await (const event of model.getStreamedResponse(request)) if (event.type !== 'model') seen.push(event);
    return seen;
  });

setTracingDisabled(true);

const responseIn = (events: readonly StreamEvent[]): protocol.StreamEventResponseCompleted['response'] => {
  const last = events.at(-1);
  if (last?.type !== 'response_done') throw new Error(`The stream ends with ${last?.type}.`);
  return last.response;
};

const textIn = (output: ModelResponse['output']): string =>
  output
    .flatMap((item) => ('role' in item && item.role === 'assistant' ? item.content : []))
    .map((part) => (part.type === 'output_text' ? part.text : ''))
    .join('');

const callsIn = (output: ModelResponse['output']) => output.filter((item) => item.type === 'function_call');

const weather = tool({
  name: 'weather',
  description: 'The weather of a city.',
  parameters: z.object({ city: z.string() }),
  execute: ({ city }) => `12 degrees in ${city}`,
});

/** What the engine needs of every model. */
export function modelContract({ name, open, openBroken }: ModelUnderTest): void {
  describe(`${name}, as a model`, () => {
    it('answers with a text, an id and the tokens that it took', async () => {
      await using opened = await open('text');
      const response = await whole(opened.model, requestOf({}));
      expect(textIn(response.output)).toBe(HELLO);
      expect(response.responseId).toMatch(/\S/);
      expect(response.usage.requests).toBe(1);
      expect(response.usage.inputTokens).toBeGreaterThan(0);
      expect(response.usage.totalTokens).toBe(response.usage.inputTokens + response.usage.outputTokens);
    });

    it('streams the same: started once, texts in order, done once and last', async () => {
      await using opened = await open('text');
      const events = await streamed(opened.model, requestOf({}));
      const types = events.map((event) => event.type);
      expect(types[0]).toBe('response_started');
      expect(types.filter((type) => type !== 'output_text_delta')).toEqual(['response_started', 'response_done']);
      const deltas = events.map((event) => (event.type === 'output_text_delta' ? event.delta : ''));
      expect(deltas.join('')).toBe(HELLO);
      const response = responseIn(events);
      expect(textIn(response.output)).toBe(HELLO);
      expect(response.id).toMatch(/\S/);
      expect(response.usage.totalTokens).toBeGreaterThan(0);
    });

    it.each(['whole', 'streamed'])('gives several calls of one answer apart, %s', async (mode) => {
      await using opened = await open('calls');
      const request = requestOf({ tools: [weatherTool] });
      const output =
        mode === 'whole'
          ? (await whole(opened.model, request)).output
          : responseIn(await streamed(opened.model, request)).output;
      const calls = callsIn(output);
      expect(calls.map((call) => [call.name, JSON.parse(call.arguments)])).toEqual([
        ['weather', { city: 'Oslo' }],
        ['weather', { city: 'Rome' }],
      ]);
      expect(new Set(calls.map((call) => call.callId)).size).toBe(2);
    });

    it.each(['whole', 'streamed'])('serves an agent with a tool, %s', async (mode) => {
      await using opened = await open('agent');
      const agent = new Agent({ name: 'Weather', model: opened.model, tools: [weather] });
      const runner = new Runner({ tracingDisabled: true });
      if (mode === 'whole') {
        expect((await runner.run(agent, 'Oslo?')).finalOutput).toBe(FINAL);
        return;
      }
      const result = await runner.run(agent, 'Oslo?', { stream: true });
      await result.completed;
      expect(result.finalOutput).toBe(FINAL);
    });

    it.each(['whole', 'streamed'])(
      'ends when its signal fires, although the server never answers, %s',
      async (mode) => {
        await using opened = await open('slow');
        const abort = new AbortController();
        const request = requestOf({ signal: abort.signal });
        const events: StreamEvent[] = [];
        setTimeout(() => abort.abort(new Error('cancelled by a person')), 100);
        const call = mode === 'whole' ? whole(opened.model, request) : streamed(opened.model, request, events);
        const error: unknown = await call.then(
          () => null,
          (caught: unknown) => caught,
        );
        expect(events.map((event) => event.type)).not.toContain('response_done');
        // The stream of the `openai` package ends without an error; the Runner then says that there is no final response.
        if (mode === 'whole') expect(error).toBeInstanceOf(Error);
        if (error !== null) expect(classifyModelFailure(error).retryable).toBe(false);
        await opened.abandoned;
      },
    );

    it('does not begin when its signal has fired', async () => {
      await using opened = await open('text');
      const request = requestOf({ signal: AbortSignal.abort() });
      await expect(whole(opened.model, request)).rejects.toThrow();
      await expect(streamed(opened.model, request)).rejects.toThrow();
    });

    it('prints nothing', async () => {
      const spies = (['log', 'info', 'warn', 'error', 'debug'] as const).map((method) => vi.spyOn(console, method));
      const out = [vi.spyOn(process.stdout, 'write'), vi.spyOn(process.stderr, 'write')];
      try {
        await using opened = await open('text');
        await streamed(opened.model, requestOf({}));
        if (openBroken === null) return;
        for (const fault of ['page', 'cut'] as const) {
          await using broken = await openBroken(fault);
          await whole(broken.model, requestOf({})).catch(() => undefined);
        }
      } finally {
        const calls = [...spies, ...out].flatMap((spy) => spy.mock.calls);
        for (const spy of [...spies, ...out]) spy.mockRestore();
        expect(calls).toEqual([]);
      }
    });
  });

  if (openBroken === null) return;
  // A package may wait before it asks a server again that resets connections: several wait at once.
  describe.concurrent(`${name}, when its server breaks`, () => {
    it.each(['page', 'reset', 'cut', 'said'] as const)('fails and says so: %s', async (fault) => {
      await using opened = await openBroken(fault);
      const error: unknown = await whole(opened.model, requestOf({})).then(
        () => 'it gave an answer',
        (caught: unknown) => caught,
      );
      expect(error).toBeInstanceOf(Error);
      const failure = classifyModelFailure(error);
      expect(failure.code).toBe('model_failed');
      expect(failure.message).toMatch(/\w/);
      expect(failure.message).not.toMatch(/<[a-z!]/i);
      expect(failure.message).not.toContain(SECRET);
    });

    it.each(['page', 'reset', 'cut', 'said'] as const)('gives no response_done: %s', async (fault) => {
      await using opened = await openBroken(fault);
      const events: StreamEvent[] = [];
      await streamed(opened.model, requestOf({}), events).catch((error: unknown) =>
        expect(error).toBeInstanceOf(Error),
      );
      expect(events.map((event) => event.type)).not.toContain('response_done');
    });
  });
}
