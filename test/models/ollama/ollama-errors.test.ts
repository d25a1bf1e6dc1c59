import { inspect } from 'node:util';
import { Agent, Runner, retryPolicies } from '@openai/agents';
import { describe, expect, it } from 'vitest';
import { ModelCallError } from '../../../src/models/failures/model-call-error.js';
import { classifyModelFailure } from '../../../src/models/failures/model-failure.js';
import { OllamaModel } from '../../../src/models/ollama/ollama-model.js';
import { requestOf } from '../requests.js';
import { saysRaw } from '../servers/ollama-server.js';
import { type Answerer, htmlPage, silence, status, wireServer } from '../servers/wire-server.js';
import { done, failing } from './ask-ollama.js';

/** The numbers are those of the cases that a model of Ollama must hold. */

const KEY = 'my-own-proxy-key';
const json = { 'content-type': 'application/json' };

async function errorOf(answerer: Answerer): Promise<ModelCallError> {
  const { whole, streamed, events } = await failing(answerer, {}, { apiKey: KEY });
  if (!(whole instanceof ModelCallError) || !(streamed instanceof ModelCallError)) throw whole;
  // Each was asked on a port of its own.
  const shape = ({ code, statusCode, retryable, retryAfterMs, hint }: ModelCallError) => [
    ...[code, statusCode, retryable, retryAfterMs],
    hint.replace(/:\d+/, ''),
  ];
  expect(shape(streamed)).toEqual(shape(whole));
  expect(events).toEqual([]);
  return whole;
}

describe('a call that Ollama refuses', () => {
  it.each([
    ['69', 400, 'registry.ollama.ai/library/x does not support tools', 'model_failed', false, /supports tools/],
    ['70', 404, 'model "x" not found, try pulling it first', 'model_unknown', false, /ollama pull test/],
    ['71', 429, 'too many requests', 'model_failed', true, /./],
    ['72', 500, 'model runner has unexpectedly stopped', 'model_failed', true, /./],
    ['72', 502, 'bad gateway', 'model_failed', true, /./],
    ['72', 503, 'server busy', 'model_failed', true, /./],
    ['90', 401, 'unauthorized', 'model_failed', false, /Check the key/],
  ])('%s: with %i keeps what it says: %s', async (_case, statusCode, said, code, retryable, hint) => {
    const error = await errorOf(status(statusCode, JSON.stringify({ error: said }), json));
    expect(error).toMatchObject({ code, statusCode, retryable, retryAfterMs: null });
    expect(error.message).toContain(said);
    expect(error.hint).toMatch(hint);
    expect(classifyModelFailure(error)).toMatchObject({ code, retryable });
  });

  const LINK = 'https://ollama.com/connect?name=my-box&key=c3NoLWVkMjU1MTkgQUFBQUMz';

  it.each([
    [
      'of Ollama',
      LINK,
      /^Sign in: run "ollama signin" at .*, or open https:\/\/ollama\.com\/connect\?name=my-box&key=c3NoLWVkMjU1MTkgQUFBQUMz\.$/,
    ],
    ['of another host', 'https://evil.example/connect?name=x', /^Sign in: run "ollama signin" at \S+\.$/],
    ['with a password', 'https://u:pass-0123456789@ollama.com/connect', /^Sign in: run "ollama signin" at \S+\.$/],
    ['that is no address', 'ollama.com/\u001b[31m', /^Sign in: run "ollama signin" at \S+\.$/],
    ['with what a terminal obeys', 'https://ollama.com/connect?name=\u001b[31m', /^[ -~]+$/],
    ['that is too long', `https://ollama.com/connect?name=${'x'.repeat(2_000)}`, /^.{20,100}$/],
  ])('90: a server that is not signed in says how, with a link %s', async (_what, signin_url, hint) => {
    const error = await errorOf(status(401, JSON.stringify({ error: 'unauthorized', signin_url }), json));
    expect(error).toMatchObject({ code: 'model_failed', statusCode: 401, retryable: false });
    expect(error.hint).toMatch(hint);
    expect(error.hint).not.toMatch(/Check the key/);
  });

  it.each([
    [{ 'retry-after': '3' }, 3_000],
    [{ 'retry-after-ms': '1500' }, 1_500],
    [{ 'retry-after': 'soon' }, null],
  ])('71: with %j says when to come back', async (headers, retryAfterMs) => {
    const error = await errorOf(status(429, '{"error":"slow down"}', { ...json, ...headers }));
    expect(error.retryAfterMs).toBe(retryAfterMs);
    const model = new OllamaModel('test', { baseURL: 'http://127.0.0.1:1' });
    expect(model.getRetryAdvice({ request: requestOf({}), error, stream: false, attempt: 1 })).toMatchObject({
      suggested: true,
      ...(retryAfterMs === null ? {} : { retryAfterMs }),
      normalized: { statusCode: 429, isNetworkError: false },
    });
  });

  it('72: is tried again by the policy of the SDK', async () => {
    await using server = await wireServer(
      status(503, '{"error":"busy"}', { ...json, 'retry-after-ms': '1' }),
      done('Here.'),
    );
    const agent = new Agent({
      name: 'A',
      model: new OllamaModel('test', { baseURL: server.url }),
      modelSettings: { retry: { maxRetries: 1, policy: retryPolicies.providerSuggested() } },
    });
    expect((await new Runner({ tracingDisabled: true }).run(agent, 'Hi')).finalOutput).toBe('Here.');
  });

  it.each([
    ['74: a page', htmlPage(502), /502|Bad Gateway nginx/],
    ['74: a page in place of an answer', saysRaw('<html><body>Log in</body></html>'), /not a JSON object: Log in/],
    ['plain text', status(500, 'oh no'), /oh no/],
    ['an error as OpenAI writes it', status(400, '{"error":{"message":"bad","type":"x"}}', json), /bad/],
    ['nothing', status(503, ''), /503/],
    ['74, 84: its key', status(401, `{"error":"the key ${KEY} is wrong"}`, json), /\[redacted\]/],
    ['JSON that is no answer', saysRaw('[1,2]\n'), /not a JSON object/],
    ['another shape', saysRaw('{"message":{"content":7},"done":true}\n'), /not one of Ollama/],
  ])('%s, as an answer', async (_what, answerer, message) => {
    const error = await errorOf(answerer);
    expect(error).toMatchObject({ name: 'HoldfastError', code: 'model_failed' });
    expect(error.message).toMatch(message);
    expect(error.message).not.toMatch(/<\w/);
    expect(JSON.stringify(error) + inspect(error, { depth: 20 })).not.toContain(KEY);
  });

  it('73: to a server that is not there is a failure of the network', async () => {
    const server = await wireServer(silence);
    await server[Symbol.asyncDispose]();
    const model = new OllamaModel('test', { baseURL: server.url });
    const error = await model.getResponse(requestOf({})).catch((caught: unknown) => caught);
    expect(error).toMatchObject({
      retryable: true,
      message: expect.stringContaining('ECONNREFUSED'),
      hint: expect.stringMatching(/OLLAMA_HOST/),
    });
    const advice = model.getRetryAdvice({ request: requestOf({}), error, stream: false, attempt: 1 });
    expect(advice?.normalized?.isNetworkError).toBe(true);
  });
});
