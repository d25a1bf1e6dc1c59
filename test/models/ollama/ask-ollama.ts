import type { Model, ModelRequest, ModelResponse, StreamEvent } from '@openai/agents';
import { expect } from 'vitest';
import { toJson } from '../../../src/core/json.js';
import { OllamaModel, type OllamaModelOptions } from '../../../src/models/ollama/ollama-model.js';
import { requestOf } from '../requests.js';
import { lastChunk, says, toolCall } from '../servers/ollama-server.js';
import { type Answerer, wireServer } from '../servers/wire-server.js';

/** Every question here goes to a real server twice, to be answered whole and streamed; both must come to the same. */

export type Body = Record<string, unknown>;

export interface Asked {
  readonly response: ModelResponse;
  readonly events: readonly StreamEvent[];
  /** What each request sent, in order. */
  readonly bodies: readonly Body[];
}

export const done = (text: string): Answerer => says(lastChunk({}, { content: text }));

/** Calls the first tool that it is offered, or says a word. */
const obliging: Answerer = (response, request) => {
  const [first] = Array.isArray(request.body['tools']) ? request.body['tools'] : [];
  const message = first === undefined ? { content: 'ok' } : { tool_calls: [toolCall(first.function.name, {})] };
  return says(lastChunk({}, message))(response, request);
};

const collect = async (model: Model, request: ModelRequest, events: StreamEvent[] = []): Promise<StreamEvent[]> => {
  for await (const event of model.getStreamedResponse(request)) events.push(event);
  return events;
};

const modelAt = (url: string, options: OllamaModelOptions, name: string) =>
  new OllamaModel(name, { baseURL: url, ...options });

export async function ask(
  answers: Answerer | readonly Answerer[],
  part: Partial<ModelRequest> = {},
  options: OllamaModelOptions = {},
  name = 'test',
): Promise<Asked> {
  const list = typeof answers === 'function' ? [answers] : answers;
  await using one = await wireServer(...list);
  await using other = await wireServer(...list);
  const request = requestOf(part);
  const response = await modelAt(one.url, options, name).getResponse(request);
  const events = await collect(modelAt(other.url, options, name), request);
  const last = events.at(-1);
  if (last?.type !== 'response_done') throw new Error(`The stream ends with ${last?.type}.`);
  expect(other.received.map(({ body }) => body)).toEqual(one.received.map(({ body }) => body));
  expect(toJson(last.response.output)).toEqual(toJson(response.output));
  expect(last.response).toMatchObject({ id: response.responseId, usage: { totalTokens: response.usage.totalTokens } });
  return { response, events, bodies: one.received.map(({ body }) => body) };
}

/** What one call sends. */
export const sent = async (
  part: Partial<ModelRequest>,
  options: OllamaModelOptions = {},
  name = 'test',
): Promise<Body> => (await ask(obliging, part, options, name)).bodies[0] ?? {};

export const messagesOf = async (input: ModelRequest['input'], options: OllamaModelOptions = {}): Promise<unknown> =>
  (await sent({ input }, options))['messages'];

/** The error of a call, whole and streamed, what the stream gave before, and how many requests arrived. */
export async function failing(
  answers: Answerer | readonly Answerer[],
  part: Partial<ModelRequest> = {},
  options: OllamaModelOptions = {},
) {
  const list = typeof answers === 'function' ? [answers] : answers;
  await using one = await wireServer(...list);
  await using other = await wireServer(...list);
  const events: StreamEvent[] = [];
  const caught = (call: Promise<unknown>) =>
    call.then(
      () => 'it gave an answer',
      (error: unknown) => error,
    );
  const whole = await caught(modelAt(one.url, options, 'test').getResponse(requestOf(part)));
  const streamed = await caught(collect(modelAt(other.url, options, 'test'), requestOf(part), events));
  expect(whole).toBeInstanceOf(Error);
  expect(streamed).toBeInstanceOf(Error);
  expect(events.map(({ type }) => type)).not.toContain('response_done');
  return { whole, streamed, events, requests: one.received.length + other.received.length };
}

/** A call that is refused before anything is sent. */
export async function refusal(part: Partial<ModelRequest>, options: OllamaModelOptions = {}): Promise<Error> {
  const { whole, streamed, requests } = await failing(obliging, part, options);
  expect(requests).toBe(0);
  expect(String(streamed)).toBe(String(whole));
  if (!(whole instanceof Error)) throw new Error('not an error');
  expect(whole.name).toBe('UserError');
  return whole;
}

export const textsIn = (events: readonly StreamEvent[]): string[] =>
  events.flatMap((event) => (event.type === 'output_text_delta' ? [event.delta] : []));

export const callsIn = ({ output }: ModelResponse) => output.filter((item) => item.type === 'function_call');

export const message = (text: string, status: 'completed' | 'incomplete' = 'completed') => ({
  type: 'message',
  role: 'assistant',
  id: expect.stringMatching(/^msg_/),
  status,
  content: [{ type: 'output_text', text }],
});

export const thought = (text: string) => ({
  type: 'reasoning',
  id: expect.stringMatching(/^rs_/),
  content: [],
  rawContent: [{ type: 'reasoning_text', text }],
});
