import { Agent, type ModelRequest, Runner } from '@openai/agents';
import { describe, expect, it } from 'vitest';
import { OllamaModel, type OllamaModelOptions } from '../../../src/models/ollama/ollama-model.js';
import { OllamaModelProvider } from '../../../src/models/ollama/ollama-model-provider.js';
import { requestOf } from '../requests.js';
import { chunk, hangsAfter } from '../servers/ollama-server.js';
import { type Answerer, silence, status, wireServer } from '../servers/wire-server.js';
import { ask, type Body, done, failing, refusal, sent } from './ask-ollama.js';

/** The numbers are those of the cases that a model of Ollama must hold. */

const settingsSent = (
  modelSettings: ModelRequest['modelSettings'],
  options: OllamaModelOptions = {},
  name = 'test',
): Promise<Body> => sent({ modelSettings }, options, name);

const PICTURE = { type: 'input_image', image: 'A'.repeat(4_000) };
const schema = { type: 'object', properties: { n: { type: 'number' } }, required: ['n'], additionalProperties: false };
const outputType: ModelRequest['outputType'] = JSON.parse(
  JSON.stringify({ type: 'json_schema', name: 'out', strict: true, schema }),
);

describe('settings', () => {
  it('32, 95: go to options under the names of Ollama, 0 included, and nothing stands at the top', async () => {
    const body = await settingsSent({
      temperature: 0,
      topP: 0.5,
      frequencyPenalty: 0.1,
      presencePenalty: 0.2,
      maxTokens: 9,
      providerData: { seed: 7, stop: ['END'], top_k: 40, options: { num_gpu: 0 } },
    });
    expect(body['options']).toEqual({
      temperature: 0,
      top_p: 0.5,
      frequency_penalty: 0.1,
      presence_penalty: 0.2,
      num_predict: 9,
      seed: 7,
      stop: ['END'],
      top_k: 40,
      num_gpu: 0,
    });
    expect(Object.keys(body).sort()).toEqual(['messages', 'model', 'options', 'stream']);
  });

  it('33: are not sent unless they are set', async () => {
    expect(await settingsSent({})).toEqual({
      model: 'test',
      messages: [{ role: 'user', content: 'Hello' }],
      stream: true,
    });
  });

  it('34: the context of the provider is sent, and a call may say otherwise', async () => {
    const options = { numCtx: 8192, options: { top_k: 1 } };
    expect((await settingsSent({}, options))['options']).toEqual({ num_ctx: 8192, top_k: 1 });
    const other = await settingsSent({ providerData: { num_ctx: 99, top_k: 2 } }, options);
    expect(other['options']).toEqual({ num_ctx: 99, top_k: 2 });
  });

  it('34: a prompt that is longer than the context is not cut in silence', async () => {
    const long = { input: 'x'.repeat(4_000) };
    const { response, bodies } = await ask(done('ok'), long, { numCtx: 100 });
    expect(bodies[0]?.['truncate']).toBe(false);
    expect(response.providerData?.['warnings']).toEqual([expect.stringMatching(/more than the context of 100/)]);
    expect((await sent({ modelSettings: { truncation: 'disabled' } }))['truncate']).toBe(false);
  });

  it.each([
    ['fits', { input: 'x'.repeat(4_000) }, 8_000],
    ['may be cut', { input: 'x'.repeat(4_000), modelSettings: { truncation: 'auto' as const } }, 100],
    ['is short beside its image', { input: JSON.parse(JSON.stringify([{ role: 'user', content: [PICTURE] }])) }, 100],
  ])('34: a prompt that %s is sent as it is', async (_what, part, numCtx) => {
    expect(await sent(part, { numCtx })).not.toHaveProperty('truncate');
  });

  it.each([0, -1, '10m'])('35: a model stays loaded for %j', async (keepAlive) => {
    expect((await settingsSent({}, { keepAlive }))['keep_alive']).toBe(keepAlive);
    expect((await settingsSent({ providerData: { keep_alive: keepAlive } }))['keep_alive']).toBe(keepAlive);
  });

  it.each([
    [undefined, undefined],
    [null, undefined],
    ['none', false],
    ['minimal', 'low'],
    ['low', 'low'],
    ['medium', 'medium'],
    ['high', 'high'],
    ['xhigh', 'max'],
    ['max', 'max'],
  ] as const)('36: the effort %j is to think %j', async (effort, think) => {
    expect((await settingsSent({ reasoning: effort === undefined ? {} : { effort } }))['think']).toBe(think);
  });

  it.each(['extreme', 'constructor'])('36: the effort %j is refused', async (effort) => {
    const modelSettings = JSON.parse(JSON.stringify({ reasoning: { effort } }));
    expect((await refusal({ modelSettings })).message).toContain(effort);
  });

  it.each([
    ['gpt-oss:20b', true, 'medium'],
    ['gpt-oss', false, 'low'],
    ['org/gpt-oss-safeguard:20b', true, 'medium'],
    ['gpt-oss:20b', 'high', 'high'],
    ['qwen3', true, true],
  ])('37: %s is to think %j as %j', async (name, think, value) => {
    expect((await settingsSent({}, { think }, name))['think']).toBe(value);
  });

  it.each([0, 20])('41: %i probabilities are asked for', async (top_logprobs) => {
    expect(await settingsSent({ providerData: { top_logprobs } })).toMatchObject({ logprobs: true, top_logprobs });
  });

  it.each([{ top_logprobs: 21 }, { top_logprobs: -1 }, { top_logprobs: 1.5 }])(
    '41: %j is refused',
    async (providerData) => {
      expect((await refusal({ modelSettings: { providerData } })).message).toMatch(/top_logprobs/);
    },
  );

  it.each([{ keep_alive: {} }, { model: 'x' }, { stream: false }, { messages: [] }, { tools: [] }])(
    '95: %j is refused',
    async (providerData) => {
      expect((await refusal({ modelSettings: { providerData } })).message).toContain(Object.keys(providerData)[0]);
    },
  );

  it.each([{ previousResponseId: 'r' }, { conversationId: 'c' }, { prompt: { promptId: 'p' } }])(
    'what only OpenAI keeps is refused: %j',
    async (part) => {
      expect((await refusal(part)).message).toContain(Object.keys(part)[0]);
    },
  );
});

describe('options', () => {
  const refused = (options: object): readonly string[] => {
    const taken = new OllamaModelProvider(JSON.parse(JSON.stringify(options))).problems();
    return taken.map(({ pointer, detail }) => `${pointer} ${detail}`);
  };

  it.each([
    ['baseUrl', '/baseUrl is not known here; the nearest known name is baseURL'],
    ['base_url', '/base_url is not known here; the nearest known name is baseURL'],
    ['num_ctx', '/num_ctx is not known here; the nearest known name is numCtx'],
    ['timoutMs', '/timoutMs is not known here; the nearest known name is timeoutMs'],
    ['key', '/key is not known here'],
    ['somethingElse', '/somethingElse is not known here'],
  ])('that are not known are refused by name: %s', async (name, problem) => {
    const options = JSON.parse(JSON.stringify({ [name]: 'http://127.0.0.1:1' }));
    expect(refused(options)).toEqual([problem]);
    expect(() => new OllamaModel('test', options)).toThrow(expect.objectContaining({ code: 'config_invalid' }));
    const model = new OllamaModelProvider(options).getModel('test');
    await expect(model).rejects.toMatchObject({
      code: 'config_invalid',
      message: expect.stringContaining(problem.replace(/^.(\w+) /, '$1: ')),
    });
  });

  it('that are wrong are refused by name, without what they hold', () => {
    const wrong = { baseURL: 7, numCtx: 0, keepAlive: {}, think: [], toolImages: 'both', timeoutMs: 300_001 };
    expect(refused(wrong).map((one) => one.split(' ')[0])).toEqual([
      '/baseURL',
      '/numCtx',
      '/keepAlive',
      '/think',
      '/toolImages',
      '/timeoutMs',
    ]);
    for (const keepAlive of ['soon', '10', '10 m', '', Number.NaN])
      expect(refused({ keepAlive }), String(keepAlive)).toEqual([
        '/keepAlive expected seconds, or a duration as "10m"',
      ]);
    for (const keepAlive of ['0', '-1m', '1h30m', '1.5h', 60]) expect(refused({ keepAlive })).toEqual([]);
  });

  it.each([
    ['before an answer', silence],
    ['during an answer', hangsAfter(chunk({ content: 'I' }))],
  ])('timeoutMs gives a silent server up %s', async (_when, answerer) => {
    const { whole, streamed } = await failing(answerer, {}, { timeoutMs: 150 });
    for (const error of [whole, streamed])
      expect(error).toMatchObject({
        ...{ code: 'model_failed', retryable: true },
        message: expect.stringContaining('The server said nothing for 150 ms.'),
      });
  });
});

describe('a model that cannot think', () => {
  const says400 = status(400, '{"error":"\\"test\\" does not support thinking"}', {
    'content-type': 'application/json',
  });
  const plain: Answerer = (response, request) =>
    ('think' in request.body ? says400 : done('Plainly.'))(response, request);

  it('38: is asked again without, once, if only the provider wanted it to', async () => {
    await using server = await wireServer(plain);
    const model = new OllamaModel('test', { baseURL: server.url, think: true });
    await model.getResponse(requestOf({}));
    await model.getResponse(requestOf({}));
    expect(server.received.map(({ body }) => body['think'])).toEqual([true, undefined, undefined]);
    expect((await ask(plain, {}, { think: true })).bodies).toHaveLength(2);
  });

  it('38: fails if the call wanted it to', async () => {
    const { whole, requests } = await failing(plain, { modelSettings: { reasoning: { effort: 'high' } } });
    expect(whole).toMatchObject({
      code: 'model_failed',
      retryable: false,
      message: expect.stringContaining('does not support thinking'),
    });
    expect(requests).toBe(2);
  });
});

describe('the form of an answer', () => {
  it.each([
    ['a schema', { outputType }, schema],
    ['any JSON', { modelSettings: { providerData: { format: 'json' } } }, 'json'],
    ['text', {}, undefined],
  ])('39: %s', async (_what, part, format) => {
    expect((await sent(part))['format']).toEqual(format);
  });
});

describe('a call that is given up', () => {
  it.each([
    ['before an answer', silence],
    ['during an answer', hangsAfter(chunk({ content: 'I' }))],
  ])('42: %s throws an AbortError that says why, and closes the connection', async (_when, answerer) => {
    for (const mode of ['whole', 'streamed']) {
      await using server = await wireServer(answerer);
      const abort = new AbortController();
      const model = new OllamaModel('test', { baseURL: server.url });
      const request = requestOf({ signal: abort.signal });
      const types: string[] = [];
      const call = async () => {
        if (mode === 'whole') await model.getResponse(request);
        else for await (const { type } of model.getStreamedResponse(request)) types.push(type);
      };
      const ended = expect(call()).rejects.toMatchObject({
        name: 'AbortError',
        cause: { message: 'the run was cancelled' },
      });
      // A request that has not left yet when the signal fires never leaves, and no server sees its client go.
      await server.arrived;
      setTimeout(() => abort.abort(new Error('the run was cancelled')), 20);
      await ended;
      expect(types).not.toContain('response_done');
      await server.abandoned;
    }
  });

  it('42: by its reader closes the connection', async () => {
    await using server = await wireServer(hangsAfter(chunk({ content: 'I' })));
    for await (const event of new OllamaModel('test', { baseURL: server.url }).getStreamedResponse(requestOf({}))) {
      if (event.type === 'output_text_delta') break;
    }
    await server.abandoned;
  });

  it('43: by its timeout does not end the run, which may ask again', async () => {
    await using server = await wireServer(silence, done('Here.'));
    const agent = new Agent({
      name: 'A',
      model: new OllamaModel('test', { baseURL: server.url }),
      modelSettings: {
        timeoutMs: 100,
        retry: { maxRetries: 1, policy: () => ({ retry: true, delayMs: 0, approveUnsafeReplay: true }) },
      },
    });
    expect((await new Runner({ tracingDisabled: true }).run(agent, 'Hi')).finalOutput).toBe('Here.');
    expect(server.received).toHaveLength(2);
    await server.abandoned;
  });
});
