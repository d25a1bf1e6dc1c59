import { expect, it } from 'vitest';
import { vectorOf } from '../../src/core/memory/vectors.js';
import { ModelCallError } from '../../src/models/failures/model-call-error.js';
import { OllamaModelProvider } from '../../src/models/ollama/ollama-model-provider.js';
import { OpenAICompatibleProvider } from '../../src/models/openai/openai-compatible-provider.js';
import { MultiModelProvider, MultiModelProviderMap } from '../../src/models/providers/multi-model-provider.js';
import { embedTexts } from '../../steps/memory/embed.js';
import { DIMENSIONS, embeddingServer, meaningOf } from '../harness/embedding-server.js';
import { status, wireServer } from './servers/wire-server.js';

/** Vectors of texts, over the wire. */

const KEY = 'lab-key-0123456789abcdef';
const TEXTS = ['The parcel was late.', 'Green tea', 'Überfällig 📦'];
const none = () => null;

const failureOf = (asked: Promise<unknown>): Promise<ModelCallError> =>
  asked.then(
    () => expect.fail('it gave an answer'),
    (error: unknown) => (error instanceof ModelCallError ? error : expect.fail(`it threw ${String(error)}`)),
  );

it('are made by an API of the form of that of OpenAI, with its key, in the order of the texts', async () => {
  await using server = await embeddingServer();
  const provider = new OpenAICompatibleProvider({ baseURL: `${server.url}/v1`, key: KEY }, none);
  expect(await provider.embed({ model: 'small', texts: TEXTS })).toEqual(TEXTS.map(meaningOf));
  const [{ path, headers, body }] = server.received as [(typeof server.received)[number]];
  expect(path).toBe('/v1/embeddings');
  expect(headers).toMatchObject({ authorization: `Bearer ${KEY}` });
  expect(body).toEqual({ model: 'small', input: TEXTS, encoding_format: 'float' });
});

it('are made by Ollama', async () => {
  await using server = await embeddingServer();
  const provider = new OllamaModelProvider({ baseURL: server.url });
  expect(await provider.embed({ model: 'nomic-embed-text', texts: TEXTS })).toEqual(TEXTS.map(meaningOf));
  expect(server.received[0]).toMatchObject({
    path: '/api/embed',
    body: { model: 'nomic-embed-text', input: TEXTS },
  });
});

it('are asked of the provider that a name names', async () => {
  await using server = await embeddingServer();
  const provider_map = new MultiModelProviderMap();
  provider_map.addProvider('lab', new OpenAICompatibleProvider({ baseURL: `${server.url}/v1`, key: null }, none));
  provider_map.addProvider('own', { getModel: () => Promise.reject(new Error('there is no model')) });
  const models = new MultiModelProvider({ provider_map, ollamaHost: server.url });
  expect(await models.embed({ model: 'lab/small', texts: ['tea'] })).toEqual([meaningOf('tea')]);
  expect(await models.embed({ model: 'ollama/small', texts: ['tea'] })).toEqual([meaningOf('tea')]);
  models.assertEmbeds('lab/small');
  models.assertEmbeds('ollama/small');
  for (const model of ['own/small', 'openai/small', 'nowhere/small', 'lab/', 'anthropic-native/small'])
    expect(() => models.assertEmbeds(model), model).toThrow(expect.objectContaining({ code: 'model_unknown' }));
});

it.each([
  ['OpenAI', (url: string) => new OpenAICompatibleProvider({ baseURL: `${url}/v1`, key: KEY }, none)],
  ['Ollama', (url: string) => new OllamaModelProvider({ baseURL: url, apiKey: KEY })],
] as const)('fail as the models of %s do', async (_, providerAt) => {
  const asked = async (code: number, body: string, headers: Record<string, string> = {}) => {
    await using server = await wireServer(status(code, body, { 'content-type': 'application/json', ...headers }));
    return await failureOf(providerAt(server.url).embed({ model: 'small', texts: ['a', 'b'] }));
  };
  expect(await asked(503, '{"error":"busy"}', { 'retry-after': '7' })).toMatchObject({
    ...{ code: 'model_failed', retryable: true, statusCode: 503, retryAfterMs: 7000 },
  });
  expect(await asked(400, '{"error":"too long"}')).toMatchObject({ retryable: false, statusCode: 400 });
  const refused = await asked(401, `{"error":"the key ${KEY} is wrong"}`);
  expect(refused).toMatchObject({ retryable: false, statusCode: 401 });
  expect(refused.message).not.toContain(KEY);
  for (const wrong of [
    '{}',
    '{"data":[{"index":0,"embedding":[1]}],"embeddings":[[1]]}',
    '{"data":"no","embeddings":7}',
  ])
    expect(await asked(200, wrong), wrong).toMatchObject({ code: 'model_failed', retryable: false });
  const { url } = await closedServer();
  expect(await failureOf(providerAt(url).embed({ model: 'small', texts: ['a'] }))).toMatchObject({ retryable: true });
});

async function closedServer() {
  await using server = await wireServer(status(200, '{}'));
  return { url: server.url };
}

it('end when the signal fires', async () => {
  await using server = await wireServer(() => undefined);
  const signal = AbortSignal.timeout(100);
  for (const provider of [
    new OpenAICompatibleProvider({ baseURL: `${server.url}/v1`, key: null }, none),
    new OllamaModelProvider({ baseURL: server.url }),
  ])
    await expect(provider.embed({ model: 'small', texts: ['a'], signal })).rejects.toMatchObject({
      name: 'AbortError',
    });
});

it('have the length one and as many numbers as the space says, or are refused', async () => {
  await using server = await embeddingServer();
  const provider = new OpenAICompatibleProvider({ baseURL: `${server.url}/v1`, key: null }, none);
  const signal = AbortSignal.timeout(60_000);
  const made = await embedTexts(provider, { model: 'small', dimensions: 16 }, ['tea'], signal);
  expect(made).toEqual([vectorOf(meaningOf('tea'), 16)]);
  await embedTexts(provider, { model: 'small', dimensions: 16 }, [`${'x'.repeat(7999)}😀 and more`], signal);
  expect(server.texts.at(-1)).toHaveLength(8000);
  const more = embedTexts(provider, { model: 'small', dimensions: DIMENSIONS + 1 }, ['tea'], signal);
  expect(await failureOf(more)).toMatchObject({ code: 'model_failed', retryable: false });
});
