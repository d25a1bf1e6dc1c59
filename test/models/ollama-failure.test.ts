import { rm, writeFile } from 'node:fs/promises';
import { Agent, type ModelRequest, Runner, retryPolicies, type StreamEvent } from '@openai/agents';
import { describe, expect, it } from 'vitest';
import type { ModelCallError } from '../../src/models/model-call-error.js';
import { classifyModelFailure } from '../../src/models/model-failure.js';
import { OllamaModel, type OllamaModelOptions } from '../../src/models/ollama-model.js';
import { OllamaModelProvider } from '../../src/models/ollama-model-provider.js';
import { requestOf } from './requests.js';
import { chunk, cutAfter, hangsAfter, lastChunk, says, saysRaw } from './servers/ollama-server.js';
import { type Answerer, htmlPage, reset, silence, status, wireServer } from './servers/wire-server.js';

const KEY = 'my-own-proxy-key';
const json = { 'content-type': 'application/json' };

/** The error of one call, whole or streamed, and what the stream gave before. */
async function failure(
  answerer: Answerer,
  mode: 'whole' | 'streamed' = 'whole',
  part: Partial<ModelRequest> = {},
): Promise<{ readonly error: ModelCallError; readonly events: readonly StreamEvent[] }> {
  await using server = await wireServer(answerer);
  const model = new OllamaModel('test', { baseURL: server.url, apiKey: KEY });
  const events: StreamEvent[] = [];
  const call = async () => {
    if (mode === 'whole') return await model.getResponse(requestOf(part));
    for await (const event of model.getStreamedResponse(requestOf(part))) events.push(event);
    return null;
  };
  const error: ModelCallError = await call().then(
    () => {
      throw new Error('It gave an answer.');
    },
    (caught) => caught,
  );
  return { error, events };
}

describe('a call that Ollama refuses', () => {
  it.each([
    [400, 'registry.ollama.ai/library/x does not support tools', 'model_failed', false, /supports tools/],
    [401, 'unauthorized', 'model_failed', false, /Check the key/],
    [404, 'model "x" not found, try pulling it first', 'model_unknown', false, /ollama pull test/],
    [429, 'too many requests', 'model_failed', true, /./],
    [500, 'model runner has unexpectedly stopped', 'model_failed', true, /./],
    [502, 'bad gateway', 'model_failed', true, /./],
    [503, 'server busy', 'model_failed', true, /./],
  ])('with %i keeps what it says: %s', async (code, said, errorCode, retryable, hint) => {
    const { error } = await failure(status(code, JSON.stringify({ error: said }), json));
    expect(error).toMatchObject({ code: errorCode, statusCode: code, retryable });
    expect(error.message).toContain(said);
    expect(error.hint).toMatch(hint);
    expect(classifyModelFailure(error)).toMatchObject({ code: errorCode, retryable });
  });

  it('says when to come back', async () => {
    const { error } = await failure(status(429, '{"error":"slow down"}', { ...json, 'retry-after': '3' }));
    expect(error.retryAfterMs).toBe(3_000);
    const model = new OllamaModel('test', { baseURL: 'http://127.0.0.1:1' });
    expect(model.getRetryAdvice({ request: requestOf({}), error, stream: false, attempt: 1 })).toMatchObject({
      suggested: true,
      retryAfterMs: 3_000,
      normalized: { statusCode: 429, isNetworkError: false },
    });
  });

  it.each([
    ['a page', htmlPage(502), /502|Bad Gateway nginx/],
    ['plain text', status(500, 'oh no'), /oh no/],
    ['an error as OpenAI writes it', status(400, '{"error":{"message":"bad","type":"x"}}', json), /bad/],
    ['nothing', status(503, ''), /503/],
    ['its key', status(401, `{"error":"the key ${KEY} is wrong"}`, json), /\[redacted\]/],
    ['a page in place of an answer', saysRaw('<html><body>Log in</body></html>'), /not a JSON object: Log in/],
    ['JSON that is no answer', saysRaw('[1,2]\n'), /not a JSON object/],
    ['another shape', saysRaw('{"message":{"content":7},"done":true}\n'), /not one of Ollama/],
  ])('may answer with %s', async (_what, answerer, message) => {
    const { error } = await failure(answerer);
    expect(error).toMatchObject({ name: 'HoldfastError', code: 'model_failed' });
    expect(error.message).toMatch(message);
    expect(error.message).not.toMatch(/<\w/);
    expect(JSON.stringify(error) + error.message).not.toContain(KEY);
  });
});

describe('a server that is not there', () => {
  it('is a failure of the network', async () => {
    const server = await wireServer(silence);
    await server[Symbol.asyncDispose]();
    const model = await new OllamaModelProvider({ baseURL: server.url }).getModel('test');
    const error = await model.getResponse(requestOf({})).catch((caught: unknown) => caught);
    expect(error).toMatchObject({
      retryable: true,
      message: expect.stringContaining('ECONNREFUSED'),
      hint: expect.stringMatching(/OLLAMA_HOST/),
    });
    expect(
      model.getRetryAdvice({ request: requestOf({}), error, stream: false, attempt: 1 })?.normalized?.isNetworkError,
    ).toBe(true);
  });
});

describe('an answer that breaks off', () => {
  const text = chunk({ content: 'I' });
  it.each([
    ['the connection is reset', reset, false],
    ['the connection is lost', cutAfter(text), true],
    ['it ends before it is done', says(text), true],
    ['it ends inside a line', saysRaw(`${JSON.stringify(text)}\n{"message":{"con`), true],
    ['the server says why', saysRaw(`${JSON.stringify(text)}\n{"error":"out of memory"}\n`), true],
    ['it is empty', saysRaw(''), false],
  ])('because %s may be asked for again only if nothing was handed out', async (_why, answerer, started) => {
    const whole = await failure(answerer);
    expect(whole.error).toMatchObject({ code: 'model_failed', retryable: true });
    const { error, events } = await failure(answerer, 'streamed');
    expect(error).toMatchObject({ code: 'model_failed', retryable: !started, responseStarted: started });
    expect(events.map(({ type }) => type)).toEqual(started ? ['response_started', 'output_text_delta'] : []);
  });

  it('says what the server said', async () => {
    const { error } = await failure(saysRaw('{"error":"out of memory"}\n'));
    expect(error.message).toMatch(/^test at http.*: out of memory$/);
  });
});

describe('a call that is given up', () => {
  it.each([
    ['before an answer', silence],
    ['during an answer', hangsAfter(chunk({ content: 'I' }))],
  ])('%s throws an AbortError that says why, and closes the connection', async (_when, answerer) => {
    await using server = await wireServer(answerer);
    const abort = new AbortController();
    const model = new OllamaModel('test', { baseURL: server.url });
    setTimeout(() => abort.abort(new Error('the run was cancelled')), 50);
    await expect(model.getResponse(requestOf({ signal: abort.signal }))).rejects.toMatchObject({
      name: 'AbortError',
      cause: { message: 'the run was cancelled' },
    });
    await server.abandoned;
  });

  it('by its reader closes the connection', async () => {
    await using server = await wireServer(hangsAfter(chunk({ content: 'I' })));
    for await (const event of new OllamaModel('test', { baseURL: server.url }).getStreamedResponse(requestOf({}))) {
      if (event.type === 'output_text_delta') break;
    }
    await server.abandoned;
  });

  it('by its timeout does not end the run, which may ask again', async () => {
    await using server = await wireServer(silence, says(lastChunk({}, { content: 'Here.' })));
    const agent = new Agent({
      name: 'A',
      model: new OllamaModel('test', { baseURL: server.url }),
      modelSettings: {
        timeoutMs: 100,
        retry: { maxRetries: 1, policy: () => ({ retry: true, delayMs: 0, approveUnsafeReplay: true }) },
      },
    });
    expect((await new Runner({ tracingDisabled: true }).run(agent, 'Hi')).finalOutput).toBe('Here.');
  });

  it('after a busy server is tried again by the policy of the SDK', async () => {
    await using server = await wireServer(
      status(503, '{"error":"busy"}', { ...json, 'retry-after-ms': '1' }),
      says(lastChunk({}, { content: 'Here.' })),
    );
    const agent = new Agent({
      name: 'A',
      model: new OllamaModel('test', { baseURL: server.url }),
      modelSettings: { retry: { maxRetries: 1, policy: retryPolicies.providerSuggested() } },
    });
    expect((await new Runner({ tracingDisabled: true }).run(agent, 'Hi')).finalOutput).toBe('Here.');
  });
});

describe('a model that cannot think', () => {
  const refuses: Answerer = (response, { body }) =>
    'think' in body
      ? status(400, '{"error":"\\"test\\" does not support thinking"}', json)(response, { path: '', headers: {}, body })
      : says(lastChunk({}, { content: 'Plainly.' }))(response, { path: '', headers: {}, body });
  const ask = async (part: Partial<ModelRequest>, options: OllamaModelOptions) => {
    await using server = await wireServer(refuses);
    const model = new OllamaModel('test', { baseURL: server.url, ...options });
    await model.getResponse(requestOf(part));
    await model.getResponse(requestOf(part));
    return server.received.map(({ body }) => body['think']);
  };

  it('is asked again without, once, if only the provider wanted it to', async () => {
    expect(await ask({}, { think: true })).toEqual([true, undefined, undefined]);
  });

  it('fails if the call wanted it to', async () => {
    await expect(ask({ modelSettings: { reasoning: { effort: 'high' } } }, {})).rejects.toMatchObject({
      code: 'model_failed',
      retryable: false,
      message: expect.stringContaining('does not support thinking'),
    });
  });
});

describe('a key', () => {
  it('goes to the host that it was given for', async () => {
    await using server = await wireServer(says(lastChunk()));
    await new OllamaModel('test', { baseURL: server.url, apiKey: KEY }).getResponse(requestOf({}));
    expect(server.received[0]).toMatchObject({ path: '/api/chat', headers: { authorization: `Bearer ${KEY}` } });
  });

  it.each(['baseURL', 'ollamaHost'])('of the environment does not go to another host (%s)', async (place) => {
    await using server = await wireServer(says(lastChunk()));
    await new OllamaModel('gpt-oss:120b-cloud', { [place]: `${server.url}/v1/`, ollamaApiKey: KEY }).getResponse(
      requestOf({}),
    );
    expect(server.received[0]?.headers).not.toHaveProperty('authorization');
    expect(server.received[0]).toMatchObject({
      path: '/api/chat',
      body: { model: 'gpt-oss:120b-cloud', stream: true },
    });
  });
});

describe('an image', () => {
  it('is never read from the file that its base64 happens to name', async () => {
    const name = `/tmp/hf${process.pid}`;
    const path = name.padEnd(Math.ceil(name.length / 4) * 4, 'A');
    await writeFile(path, 'private');
    try {
      await using server = await wireServer(says(lastChunk()));
      const input: ModelRequest['input'] = [{ role: 'user', content: [{ type: 'input_image', image: path }] }];
      await new OllamaModel('test', { baseURL: server.url }).getResponse(requestOf({ input }));
      expect(server.received[0]?.body['messages']).toEqual([{ role: 'user', content: '', images: [path] }]);
    } finally {
      await rm(path);
    }
  });
});
