import {
  type Model,
  type ModelRequest,
  OpenAIChatCompletionsModel,
  OpenAIProvider,
  OpenAIResponsesModel,
  type StreamEvent,
  withTrace,
} from '@openai/agents';
import { expect, test } from 'vitest';
import { toJson } from '../../src/core/json.js';
import type { ModelDelta } from '../../src/core/log/delta.js';
import { classifyModelFailure } from '../../src/models/failures/model-failure.js';
import { OllamaModel } from '../../src/models/ollama/ollama-model.js';
import { functionModel } from '../../src/models/providers/function-model.js';
import { streamedResponse } from '../../src/models/providers/streamed-response.js';
import { callItem, requestOf, textItem } from './requests.js';
import { chunk, lastChunk, says, toolCall } from './servers/ollama-server.js';
import { callOutput, responds, textOutput } from './servers/openai-server.js';
import { type Answerer, wireServer } from './servers/wire-server.js';

const OSLO = { city: 'Oslo' };
const REQUEST = requestOf({});

async function streamed(model: Model, request: ModelRequest = REQUEST) {
  const deltas: ModelDelta[] = [];
  const response = await streamedResponse(model, request, (delta) => deltas.push(delta));
  const joined = (type: ModelDelta['type']): string =>
    deltas.map((one) => (one.type === type ? one.delta : '')).join('');
  return { response, deltas, joined };
}

const whole = (model: Model) => withTrace('test', () => model.getResponse(REQUEST));

/** A model of which only the stream is of interest. */
const streaming = (events: () => AsyncIterable<StreamEvent> | Iterable<StreamEvent>): Model => ({
  getResponse: () => Promise.reject(new Error('it is asked for a stream')),
  async *getStreamedResponse() {
    yield* events();
  },
});

test('a function model gives the same response in pieces, and calls that it gives whole are deltas too', async () => {
  const model = functionModel('f', () => [
    textItem('Looking.'),
    callItem('weather', OSLO),
    callItem('weather', {}, 'b'),
  ]);
  const { response, deltas } = await streamed(model);
  expect(toJson(response)).toEqual(toJson(await whole(model)));
  const [, first] = response.output;
  expect(deltas).toEqual([
    { type: 'text', delta: 'Looking.' },
    {
      type: 'arguments',
      delta: '{"city":"Oslo"}',
      callId: first?.type === 'function_call' && first.callId,
      tool: 'weather',
    },
    { type: 'arguments', delta: '{}', callId: 'b', tool: 'weather' },
  ]);
});

test('Ollama gives the same response in pieces, and its thinking as it comes', async () => {
  const answer = says(
    chunk({ thinking: 'Let me ' }),
    chunk({ thinking: 'look.' }),
    chunk({ content: 'I ' }),
    chunk({ content: 'look.', tool_calls: [toolCall('weather', OSLO)] }),
    lastChunk(),
  );
  await using server = await wireServer(answer);
  const model = new OllamaModel('test', { baseURL: server.url, newId: () => '12-34' });
  const { response, deltas } = await streamed(model);
  expect(toJson(response)).toEqual(toJson(await whole(model)));
  expect(deltas).toEqual([
    { type: 'reasoning', delta: 'Let me ' },
    { type: 'reasoning', delta: 'look.' },
    { type: 'text', delta: 'I ' },
    { type: 'text', delta: 'look.' },
    { type: 'arguments', delta: '{"city":"Oslo"}', callId: 'call_1234_0', tool: 'weather' },
  ]);
});

const sse = (events: readonly object[]): Answerer => {
  const text = events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join('');
  return (to) => {
    to.writeHead(200, { 'content-type': 'text/event-stream' }).end(text);
  };
};

const providerOf = (baseURL: string, useResponses: boolean) =>
  new OpenAIProvider({ apiKey: 'sk-test', baseURL, useResponses }).getModel('test');

test('the Responses API gives the same output, usage and id in pieces', async () => {
  const output = [textOutput('Hello you'), callOutput('call_1', 'weather', OSLO)];
  await using server = await wireServer(responds(output, 'Hello you'));
  const model = await providerOf(server.url, true);
  expect(model).toBeInstanceOf(OpenAIResponsesModel);
  const { response, joined } = await streamed(model);
  const { providerData: _raw, ...expected } = await whole(model);
  expect(toJson({ ...response, providerData: undefined })).toEqual(toJson(expected));
  expect(joined('text')).toBe('Hello you');
  expect(joined('arguments')).toBe('{"city":"Oslo"}');
});

test('reasoning and arguments of the Responses API come as they are written', async () => {
  const done = { id: 'resp_1', status: 'completed', output: [callOutput('call_1', 'weather', OSLO)], usage: {} };
  const answer = sse([
    { type: 'response.created', response: { id: 'resp_1', output: [] } },
    { type: 'response.reasoning_summary_text.delta', item_id: 'rs_1', output_index: 0, delta: 'Where' },
    { type: 'response.reasoning_text.delta', item_id: 'rs_1', output_index: 0, delta: '?' },
    { type: 'response.output_item.added', output_index: 1, item: callOutput('call_1', 'weather', {}) },
    { type: 'response.function_call_arguments.delta', item_id: 'fc_1', output_index: 1, delta: '{"city":' },
    { type: 'response.function_call_arguments.delta', item_id: 'fc_1', output_index: 1, delta: '"Oslo"}' },
    { type: 'response.completed', response: done },
  ]);
  await using server = await wireServer(answer);
  const { deltas } = await streamed(await providerOf(server.url, true));
  const of = { type: 'arguments', callId: 'call_1', tool: 'weather' };
  expect(deltas).toEqual([
    { type: 'reasoning', delta: 'Where' },
    { type: 'reasoning', delta: '?' },
    { ...of, delta: '{"city":' },
    { ...of, delta: '"Oslo"}' },
  ]);
});

test('reasoning, text and arguments of Chat Completions come as they are written', async () => {
  const of = (delta: object, index = 0) => ({
    ...{ id: 'chat_1', object: 'chat.completion.chunk', created: 1, model: 'test' },
    choices: [{ index, delta, finish_reason: null }],
  });
  const part = (index: number, called: object, id?: string) =>
    of({ tool_calls: [{ index, ...(id === undefined ? {} : { id, type: 'function' }), function: called }] });
  const answer = sse([
    of({ role: 'assistant', content: '' }),
    of({ reasoning: 'Where?' }),
    of({ content: 'Look' }),
    of({ content: 'ing.' }),
    part(0, { name: 'weather', arguments: '' }, 'call_1'),
    part(0, { arguments: '{"city":' }),
    part(1, { name: 'weather', arguments: '{}' }, 'call_2'),
    part(0, { arguments: '"Oslo"}' }),
    { ...of({}), choices: [], usage: { prompt_tokens: 3, completion_tokens: 4, total_tokens: 7 } },
  ]);
  await using server = await wireServer(answer);
  const model = await providerOf(server.url, false);
  expect(model).toBeInstanceOf(OpenAIChatCompletionsModel);
  const { response, deltas } = await streamed(model);
  expect(response.usage.totalTokens).toBe(7);
  expect(deltas).toEqual([
    { type: 'reasoning', delta: 'Where?' },
    { type: 'text', delta: 'Look' },
    { type: 'text', delta: 'ing.' },
    { type: 'arguments', delta: '{"city":', callId: 'call_1', tool: 'weather' },
    { type: 'arguments', delta: '{}', callId: 'call_2', tool: 'weather' },
    { type: 'arguments', delta: '"Oslo"}', callId: 'call_1', tool: 'weather' },
  ]);
});

test('a stream without its end is a failure that passes, and one that was given up is not', async () => {
  const model = streaming(function* () {
    yield { type: 'response_started' };
    yield { type: 'output_text_delta', delta: 'Hel' };
  });
  const failure = await streamed(model).catch((error: unknown) => classifyModelFailure(error));
  expect(failure).toMatchObject({ code: 'model_failed', retryable: true, message: /without a final response/ });
  const abort = new AbortController();
  const given = streaming(async function* () {
    yield { type: 'output_text_delta', delta: 'Hel' };
    abort.abort();
  });
  await expect(streamed(given, requestOf({ signal: abort.signal }))).rejects.toMatchObject({ name: 'AbortError' });
});

test('events that no one knows are passed over, and a flood leaves time for others', async () => {
  const count = 100_000;
  const usage = { inputTokens: 1, outputTokens: 1, totalTokens: 2 };
  const model = streaming(function* () {
    yield { type: 'model', event: { type: 'response.something.new', delta: 3 } };
    yield { type: 'model', event: null };
    for (let n = 0; n < count; n++) yield { type: 'output_text_delta', delta: 'ab' };
    yield { type: 'response_done', response: { id: '', usage, output: [textItem('ab'.repeat(count))] } };
  });
  let ticks = 0;
  const timer = setInterval(() => ticks++, 1);
  const { deltas, response } = await streamed(model);
  clearInterval(timer);
  expect(deltas).toHaveLength(count);
  expect(ticks).toBeGreaterThan(0);
  expect(response).not.toHaveProperty('responseId');
});
