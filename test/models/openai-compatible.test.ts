import {
  type Model,
  type ModelRequest,
  type ModelResponse,
  type StreamEvent,
  setTracingDisabled,
  withTrace,
} from '@openai/agents';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { classifyModelFailure } from '../../src/models/failures/model-failure.js';
import type { OpenAICompatibleOptions } from '../../src/models/openai/openai-compatible-options.js';
import { OpenAICompatibleProvider } from '../../src/models/openai/openai-compatible-provider.js';
import { callItem, requestOf, resultItem, weatherTool } from './requests.js';
import { chats, cutChat, failsInChat, silentChat } from './servers/chat-server.js';
import { responds, textOutput } from './servers/openai-server.js';
import { type Answerer, htmlPage, reset, status, type WireServer, wireServer } from './servers/wire-server.js';

setTracingDisabled(true);

const KEY = 'lab-key-0123456789abcdef';
const HELLO = 'Grüße, 世界! 👩‍🚀';

const modelOf = (options: OpenAICompatibleOptions, environment: Record<string, string> = {}): Promise<Model> =>
  new OpenAICompatibleProvider(options, (name) => environment[name] ?? null).getModel('qwen');

const ask = async (model: Model, request: Partial<ModelRequest> = {}): Promise<ModelResponse> =>
  withTrace('test', () => model.getResponse(requestOf(request)));

const stream = (model: Model, request: Partial<ModelRequest> = {}): Promise<StreamEvent[]> =>
  withTrace('test', async () => {
    const events: StreamEvent[] = [];
    for await (const event of model.getStreamedResponse(requestOf(request))) events.push(event);
    return events;
  });

const textIn = ({ output }: ModelResponse): string =>
  output
    .flatMap((item) => (item.type === 'message' && item.role === 'assistant' ? item.content : []))
    .map((part) => (part.type === 'output_text' ? part.text : ''))
    .join('');

const failureOf = async (asked: Promise<unknown>): Promise<unknown> =>
  asked.then(
    () => expect.fail('it gave an answer'),
    (error: unknown) => error,
  );

const serve = (...answers: Answerer[]): Promise<WireServer> => wireServer(...answers);

describe('an endpoint of the configuration', () => {
  it('is asked by Chat Completions, with its key, its headers and nothing of OpenAI', async () => {
    await using server = await serve(chats(HELLO));
    const model = await modelOf({ baseURL: `${server.url}/v1/`, key: KEY, headers: { 'X-Team': 'blue' } });
    const response = await ask(model);
    expect(textIn(response)).toBe(HELLO);
    expect(response.usage).toMatchObject({ inputTokens: 11, outputTokens: 7, totalTokens: 18 });
    const [{ path, headers, body }] = server.received as [(typeof server.received)[number]];
    expect(path).toBe('/v1/chat/completions');
    expect(headers).toMatchObject({ authorization: `Bearer ${KEY}`, 'x-team': 'blue' });
    expect(Object.keys(headers).filter((name) => /^(x-stainless|openai)/.test(name))).toEqual([]);
    expect(body).toMatchObject({ model: 'qwen', messages: [{ role: 'user', content: 'Hello' }] });
  });

  it('streams', async () => {
    await using server = await serve(chats(HELLO));
    const events = await stream(await modelOf({ baseURL: server.url }));
    expect(events.map((event) => (event.type === 'output_text_delta' ? event.delta : '')).join('')).toBe(HELLO);
    expect(events.at(-1)).toMatchObject({ type: 'response_done', response: { usage: { totalTokens: 18 } } });
    expect(server.received[0]?.headers).not.toHaveProperty('authorization');
  });

  it('is asked by the Responses API where that is configured', async () => {
    await using server = await serve(responds([textOutput(HELLO)], HELLO));
    const model = await modelOf({ baseURL: `${server.url}/v1`, key: KEY, api: 'responses' });
    expect(textIn(await ask(model))).toBe(HELLO);
    expect((await stream(model)).map(({ type }) => type)).toContain('response_done');
    expect(server.received.map(({ path }) => path)).toEqual(['/v1/responses', '/v1/responses']);
  });

  it("is like a known provider where it says nothing itself, and gets that provider's key only at its own address", async () => {
    await using server = await serve(chats('ok'));
    const environment = { VLLM_BASE_URL: `${server.url}/v1`, VLLM_API_KEY: KEY };
    await ask(await modelOf({ like: 'vllm' }, environment));
    await ask(await modelOf({ like: 'vllm', baseURL: `${server.url}/other` }, environment));
    expect(server.received.map(({ headers }) => headers.authorization)).toEqual([`Bearer ${KEY}`, undefined]);
  });

  it('speaks Chat Completions with OpenAI where that is configured, and bounds tokens in its way', async () => {
    await using server = await serve(chats('ok'));
    const model = await modelOf({ like: 'openai', api: 'chat', baseURL: server.url, key: KEY });
    await ask(model, { modelSettings: { maxTokens: 7 } });
    const { body } = server.received[0] ?? {};
    expect(body).toMatchObject({ max_completion_tokens: 7 });
    expect(body).not.toHaveProperty('max_tokens');
  });

  it('takes a user and a password in its address', async () => {
    await using server = await serve(chats('ok'), status(500, 'no'));
    const { port } = new URL(server.url);
    const model = await modelOf({ baseURL: `http://ann:p%40ss-word-of-ann@127.0.0.1:${port}/v1` });
    await ask(model);
    const basic = Buffer.from('ann:p@ss-word-of-ann').toString('base64');
    expect(server.received[0]?.headers.authorization).toBe(`Basic ${basic}`);
    const error = await failureOf(ask(model));
    expect(String(error)).not.toMatch(/p@ss-word|p%40ss/);
  });
});

describe('variables of the openai package', () => {
  const OURS = [
    'OPENAI_API_KEY',
    'OPENAI_ORG_ID',
    'OPENAI_PROJECT_ID',
    'OPENAI_ADMIN_KEY',
    'OPENAI_CUSTOM_HEADERS',
    'OPENAI_BASE_URL',
  ];
  const before = OURS.map((name) => process.env[name]);
  beforeEach(() => {
    for (const name of OURS) process.env[name] = 'sk-of-openai-alone';
    process.env['OPENAI_CUSTOM_HEADERS'] = 'X-Corporate: sk-of-openai-alone';
    process.env['OPENAI_BASE_URL'] = 'http://127.0.0.1:9/v1';
  });
  afterEach(() => {
    OURS.forEach((name, index) => {
      const value = before[index];
      if (value === undefined) delete process.env[name];
      else process.env[name] = value;
    });
  });

  it.each(['chat', 'responses'] as const)('reach no other endpoint (%s)', async (api) => {
    await using server = await serve(api === 'chat' ? chats('ok') : responds([textOutput('ok')], 'ok'));
    await ask(await modelOf({ baseURL: server.url, key: null, api }), {
      modelSettings: api === 'chat' ? {} : { providerData: { extraHeaders: { 'X-Asked': 'yes' } } },
    });
    expect(JSON.stringify(server.received[0]?.headers)).not.toContain('sk-of-openai-alone');
    if (api === 'responses') expect(server.received[0]?.headers['x-asked']).toBe('yes');
  });
});

describe('quirks', () => {
  const schema: Extract<ModelRequest['outputType'], object>['schema'] = {
    type: 'object',
    properties: { city: { type: 'string' } },
    required: ['city'],
    additionalProperties: false,
  };
  const outputType: ModelRequest['outputType'] = { type: 'json_schema', name: 'place', strict: true, schema };
  const bodyFor = async (options: OpenAICompatibleOptions, request: Partial<ModelRequest>) => {
    await using server = await serve(chats('{}'));
    await stream(await modelOf({ ...options, baseURL: server.url, key: KEY }), request);
    return server.received[0]?.body ?? {};
  };

  it('leave a request as it is where there are none', async () => {
    const body = await bodyFor({}, { outputType, modelSettings: { maxTokens: 5, store: false }, tools: [weatherTool] });
    expect(body).toMatchObject({ max_tokens: 5, store: false, stream_options: { include_usage: true } });
    expect(body).toMatchObject({ response_format: { type: 'json_schema', json_schema: { schema } } });
  });

  it('leave out what is refused', async () => {
    const body = await bodyFor({ like: 'mistral' }, { modelSettings: { store: false, temperature: 0.5 } });
    expect(body).not.toHaveProperty('store');
    expect(body).not.toHaveProperty('stream_options');
    expect(body).toMatchObject({ temperature: 0.5 });
  });

  it.each([
    ['deepseek', { type: 'json_object' }],
    ['anthropic', undefined],
  ])('say a schema in words for %s', async (like, format) => {
    const body = await bodyFor({ like }, { outputType, systemInstructions: 'Be short.' });
    expect(body['response_format']).toEqual(format);
    const [first, second] = body['messages'] as { role: string; content: string }[];
    expect(first?.role).toBe('system');
    expect(first?.content).toMatch(/^Be short\.\n\n/);
    expect(first?.content).toContain(JSON.stringify(schema));
    expect(second).toMatchObject({ role: 'user' });
  });

  it.each([
    ['mistral', /^[A-Za-z0-9]{9}$/, 'abcdefgh1'],
    ['anthropic', /^[A-Za-z0-9_-]{1,64}$/, 'call_abc-1'],
  ])('give calls of another provider ids that %s takes', async (like, form, fitting) => {
    const callIds = [fitting, 'functions.weather:0', 'functions.weather:1', `call_${'x'.repeat(80)}`];
    const input = callIds.flatMap((id) => [callItem('weather', {}, id), resultItem(id, 'weather', 'rain')]);
    const { messages } = (await bodyFor({ like }, { input })) as { messages: Record<string, unknown>[] };
    const asked = messages.flatMap(({ tool_calls }) => (tool_calls ?? []) as { id: string }[]).map(({ id }) => id);
    const answered = messages.flatMap(({ tool_call_id }) => (tool_call_id === undefined ? [] : [tool_call_id]));
    expect(asked).toEqual(answered);
    expect(new Set(asked).size).toBe(4);
    expect(asked[0]).toBe(fitting);
    for (const id of asked) expect(id).toMatch(form);
  });

  it('of the configuration go before those of a known provider', async () => {
    const body = await bodyFor({ like: 'deepseek', quirks: { structuredOutput: 'json_schema' } }, { outputType });
    expect(body['response_format']).toMatchObject({ type: 'json_schema' });
  });
});

describe('a failed request', () => {
  const failed = async (
    answer: Answerer,
    how: typeof ask | typeof stream = ask,
    options: Partial<OpenAICompatibleOptions> = {},
  ) => {
    await using server = await serve(answer);
    const error = await failureOf(how(await modelOf({ baseURL: `${server.url}/v1`, key: KEY, ...options })));
    return {
      error,
      failure: classifyModelFailure(error),
      asked: server.received.length,
      host: new URL(server.url).host,
    };
  };

  it('is made once and names model and host: trying again is the business of the step', async () => {
    const { failure, asked, host } = await failed(
      status(503, '{"error":{"message":"overloaded"}}', { 'retry-after': '2' }),
    );
    expect(failure).toMatchObject({ code: 'model_failed', retryable: true, retryAfterMs: 2000 });
    expect(failure.message).toBe(`qwen at ${host}: 503 overloaded`);
    expect(asked).toBe(1);
  });

  it.each([
    ['of a list, as Google gives it', '[{"error":{"code":400,"message":"no such field"}}]', /no such field/],
    ['without an object around it', '{"object":"error","message":"extra inputs are not permitted"}', /extra inputs/],
    ['with details', '{"detail":"Not authenticated"}', /Not authenticated/],
    [
      'of a provider behind a proxy',
      '{"error":{"message":"Provider returned error","metadata":{"raw":"context too long"}}}',
      /context too long/,
    ],
    ['that is plain text', 'upstream is gone', /upstream is gone/],
    ['that is empty', '', /400/],
  ])('is readable: an error %s', async (_what, body, said) => {
    const { failure } = await failed(status(400, body));
    expect(failure).toMatchObject({ code: 'model_failed', retryable: false, message: expect.stringMatching(said) });
  });

  it('is readable when a page of HTML comes', async () => {
    const { failure } = await failed(htmlPage(502));
    expect(failure).toMatchObject({ retryable: true, message: expect.stringMatching(/502 Bad Gateway nginx$/) });
  });

  it('says where the key comes from when it is refused', async () => {
    const { failure } = await failed(status(401, '{"error":{"message":"bad key"}}'));
    expect(failure).toMatchObject({
      retryable: false,
      hint: expect.stringMatching(/Check the key for .*; it comes from the configuration/),
    });
  });

  it('of a model that is not there is model_unknown', async () => {
    const { failure } = await failed(
      status(404, '{"error":{"message":"The model qwen does not exist","code":"model_not_found"}}'),
    );
    expect(failure).toMatchObject({ code: 'model_unknown', retryable: false });
  });

  it('may be made again after a reset, with what to look at', async () => {
    const { failure } = await failed(reset);
    expect(failure).toMatchObject({ retryable: true, hint: expect.stringMatching(/Check that the server at .* runs/) });
  });

  it.each([
    ['cut between two pieces', cutChat(HELLO), /ended before it was done/],
    ['an error after 200', failsInChat('He', 'the engine has stopped'), /the engine has stopped/],
    ['silence in the middle', silentChat('He'), /said nothing for 200 ms/],
  ])('says that a part of the answer was out: %s', async (_what, answer, said) => {
    const { error, failure } = await failed(answer, stream, { timeoutMs: 200 });
    expect(failure).toMatchObject({ code: 'model_failed', retryable: true, message: expect.stringMatching(said) });
    expect(error).toMatchObject({ responseStarted: true });
  });

  it('ends after the time in which an answer must begin', async () => {
    const { failure, asked } = await failed(() => undefined, ask, { timeoutMs: 100 });
    expect(failure).toMatchObject({
      code: 'model_failed',
      retryable: true,
      message: expect.stringMatching(/timed out/i),
    });
    expect(asked).toBe(1);
  });

  it.each([
    ['a page', '<html><body>It works!</body></html>', 'text/html', /not one of Chat Completions: It works!/, false],
    ['an empty object', '{}', 'application/json', /not one of Chat Completions: \{\}/, false],
    ['an error of a proxy', '{"error":{"code":503,"message":"busy"}}', 'application/json', /busy/, true],
  ])('says what came with a 200 in place of an answer: %s', async (_what, body, type, said, retryable) => {
    const { failure } = await failed(status(200, body, { 'content-type': type }));
    expect(failure).toMatchObject({ code: 'model_failed', retryable, message: expect.stringMatching(said) });
  });
});

describe('a redirect', () => {
  it.each(['chat', 'responses'] as const)(
    'is not followed, so that neither key nor question goes elsewhere (%s)',
    async (api) => {
      await using other = await serve(chats('stolen'));
      await using server = await serve((to, { path }) => {
        to.writeHead(307, { location: `${other.url}${path}` }).end();
      });
      const error = await failureOf(
        ask(await modelOf({ baseURL: `${server.url}/v1`, key: KEY, headers: { 'X-Api-Key': KEY }, api })),
      );
      expect(classifyModelFailure(error)).toMatchObject({
        retryable: false,
        message: expect.stringMatching(
          /answers 307 and redirects to http:\/\/127\.0\.0\.1:\d+.*, which is not followed/,
        ),
        hint: expect.stringMatching(/baseURL/),
      });
      expect(other.received).toEqual([]);
      expect(server.received).toHaveLength(1);
    },
  );
});
