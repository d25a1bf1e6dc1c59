import type { ModelRequest } from '@openai/agents';
import { describe, expect, it } from 'vitest';
import { ollamaAddress } from '../../../src/core/models/ollama-address.js';
import { ollamaTarget, parseOllamaName } from '../../../src/models/ollama/ollama-host.js';
import { OllamaModel } from '../../../src/models/ollama/ollama-model.js';
import { OllamaModelProvider } from '../../../src/models/ollama/ollama-model-provider.js';
import { MultiModelProvider } from '../../../src/models/providers/multi-model-provider.js';
import { fileSecret } from '../../../src/models/secrets/secret.js';
import { printed } from '../printed.js';
import { callItem, requestOf, weatherTool } from '../requests.js';
import { chunk, lastChunk, says, saysRaw, toolCall } from '../servers/ollama-server.js';
import { htmlPage, reset, status, wireServer } from '../servers/wire-server.js';
import { ask, done, failing, refusal } from './ask-ollama.js';

const CLOUD = 'https://ollama.com';
const LOCAL = 'http://127.0.0.1:11434';
const KEY = 'the-key-0123456789';

/** The numbers are those of the cases that a model of Ollama must hold. */

describe('the name of an Ollama model', () => {
  it.each([
    ['75', 'llama3', 'llama3', null],
    ['76', 'gpt-oss:120b-cloud', 'gpt-oss:120b', 'cloud'],
    ['77', 'gpt-oss:20b:cloud', 'gpt-oss:20b', 'cloud'],
    ['77', 'qwen3:cloud', 'qwen3', 'cloud'],
    ['77', 'qwen3:CLOUD', 'qwen3', 'cloud'],
    ['78', 'my-cloud-model', 'my-cloud-model', null],
    ['79', 'foo:bar-cloud/baz', 'foo:bar-cloud/baz', null],
    ['82', 'qwen3:8b:local', 'qwen3:8b', 'local'],
    ['86', ' hf.co/org/model:Q4_K_M ', 'hf.co/org/model:Q4_K_M', null],
    ['92', 'my-cloud', 'my-cloud', null],
  ])('%s: %s is %s of %s', (_case, raw, base, source) => {
    expect(parseOllamaName(raw)).toEqual({ original: raw.trim(), base, source });
  });

  it.each([
    ['80', 'foo:cloud:local'],
    ['80', 'foo:local:cloud'],
    ['80', 'foo:1b-cloud:cloud'],
    ['81', ''],
    ['81', '   '],
    ['81', ':cloud'],
  ])('%s: %j is refused', (_case, raw) => {
    expect(() => parseOllamaName(raw)).toThrow(expect.objectContaining({ code: 'model_unknown' }));
  });
});

describe('the address of an Ollama server', () => {
  it.each([
    ['0.0.0.0', 'http://127.0.0.1:11434'],
    ['0.0.0.0:8080', 'http://127.0.0.1:8080'],
    ['[::]:8080', 'http://[::1]:8080'],
    [':8080', 'http://127.0.0.1:8080'],
    ['host', 'http://host:11434'],
    ['host:1234', 'http://host:1234'],
    ['http://host', 'http://host'],
    ['https://host/', 'https://host'],
    ['"http://host:1/"', 'http://host:1'],
    ['http://host:1/v1', 'http://host:1'],
    ['http://host:1/v1/', 'http://host:1'],
    ['http://host:1/api', 'http://host:1'],
    ['http://host:1/api/chat', 'http://host:1'],
    ['https://host/proxy/api', 'https://host/proxy'],
    ['ollama.com', CLOUD],
    ['https://ollama.com:443/api', CLOUD],
    ['http://ollama.com', CLOUD],
  ])('85: %s is %s', (text, host) => {
    expect(ollamaAddress(text)).toEqual({ host, authorization: null });
  });

  it('turns a user in the address into a header, as fetch refuses it', () => {
    expect(ollamaAddress('https://ann:p%40ss@host')).toEqual({
      host: 'https://host',
      authorization: `Basic ${Buffer.from('ann:p@ss').toString('base64')}`,
    });
  });

  it.each(['http://', 'http://[', 'ftp://host', 'not a host', 'http://host:99999', 'http://%zz@host'])(
    'refuses %j',
    (text) => {
      expect(() => ollamaAddress(text)).toThrow(expect.objectContaining({ code: 'config_invalid' }));
    },
  );

  it('does not repeat what may hold a password', () => {
    expect(() => ollamaAddress('http://ann:hunter2@host:99999')).toThrow(/^((?!hunter2).)*$/);
  });
});

const authorization = (key: string) => ({ Authorization: `Bearer ${key}` });

describe('where a model is served', () => {
  it.each([
    ['75: locally, if nothing is said', 'llama3', {}, LOCAL, 'llama3', {}],
    ['76: in the cloud, if there is a key', 'llama3', { ollamaApiKey: KEY }, CLOUD, 'llama3', authorization(KEY)],
    [
      '76, 91: in the cloud, if the tag says so',
      'gpt-oss:120b-cloud',
      { apiKey: KEY },
      CLOUD,
      'gpt-oss:120b',
      authorization(KEY),
    ],
    ['82: locally, if the tag says so', 'qwen3:8b:local', { ollamaApiKey: KEY }, LOCAL, 'qwen3:8b', {}],
    [
      '84: at an explicit address, with its name unchanged and without the key of the cloud',
      'gpt-oss:120b-cloud',
      { baseURL: 'http://box:1', ollamaApiKey: KEY },
      'http://box:1',
      'gpt-oss:120b-cloud',
      {},
    ],
    ['84: at OLLAMA_HOST', 'llama3', { ollamaHost: 'box', ollamaApiKey: KEY }, 'http://box:11434', 'llama3', {}],
    [
      '90: at OLLAMA_HOST without a key that has no address',
      'llama3',
      { ollamaHost: 'box', apiKey: KEY },
      'http://box:11434',
      'llama3',
      {},
    ],
    [
      '90: at an explicit address, with the key that was given for it',
      'llama3',
      { baseURL: 'https://box', apiKey: KEY, ollamaApiKey: 'other' },
      'https://box',
      'llama3',
      authorization(KEY),
    ],
    [
      '91: at the cloud as an explicit address',
      'qwen3:cloud',
      { baseURL: CLOUD, ollamaApiKey: KEY },
      CLOUD,
      'qwen3',
      authorization(KEY),
    ],
    [
      'nowhere special, if settings are blank',
      'llama3',
      { baseURL: '', ollamaHost: ' ', ollamaApiKey: '', apiKey: null },
      LOCAL,
      'llama3',
      {},
    ],
  ])('%s', async (_where, name, options, host, model, headers) => {
    const target = ollamaTarget(name, options);
    expect(target).toMatchObject({ host, model });
    const { authorization: sent } = target;
    expect(sent === null ? {} : { [sent.header]: `${sent.scheme}${await sent.secret.value()}` }).toEqual(headers);
  });

  it.each([
    ['83: a cloud without a key', 'gpt-oss:120b-cloud', {}, /OLLAMA_API_KEY/],
    ['83: the cloud as an address, without a key', 'llama3', { baseURL: CLOUD }, /OLLAMA_API_KEY/],
    ['82: a local model in the cloud', 'llama3:local', { baseURL: CLOUD, apiKey: KEY }, /:local/],
  ])('%s is refused before anything is sent', (_what, name, options, hint) => {
    expect(() => ollamaTarget(name, options)).toThrow(
      expect.objectContaining({ code: 'model_unknown', hint: expect.stringMatching(hint) }),
    );
  });
});

describe('OllamaModelProvider', () => {
  it('89: decides for each name on its own', async () => {
    const provider = new OllamaModelProvider({ apiKey: KEY });
    const hosts = await Promise.all(
      ['llama3:local', 'gpt-oss:120b-cloud', 'llama3:local'].map((name) => provider.getModel(name)),
    );
    expect(hosts.map(({ target }) => target.host)).toEqual([LOCAL, CLOUD, LOCAL]);
    expect(hosts[0]).toBe(hosts[2]);
  });

  it('87: contacts no one before the first call', async () => {
    const provider = new OllamaModelProvider({ baseURL: 'http://127.0.0.1:1' });
    await expect(provider.getModel('llama3')).resolves.toMatchObject({ name: 'llama3' });
  });

  it('81: refuses a missing name', async () => {
    await expect(new OllamaModelProvider().getModel()).rejects.toMatchObject({ code: 'model_unknown' });
  });
});

describe('a key', () => {
  it('90: goes to the host that it was given for', async () => {
    await using server = await wireServer(done('ok'));
    await new OllamaModel('test', { baseURL: server.url, apiKey: KEY }).getResponse(requestOf({}));
    expect(server.received[0]).toMatchObject({ path: '/api/chat', headers: { authorization: `Bearer ${KEY}` } });
  });

  it('is read again when it is refused, and the question asked once more', async () => {
    const keys = ['first-key-0123456789', 'second-key-0123456789'];
    await using server = await wireServer(done('one'), status(401, '{"error":"old key"}'), done('two'));
    const apiKey = { place: 'a vault', read: async () => keys[Math.min(server.received.length, 1)] ?? '' };
    const model = await new OllamaModelProvider({ baseURL: server.url, apiKey }).getModel('test');
    await model.getResponse(requestOf({}));
    await model.getResponse(requestOf({}));
    expect(server.received.map(({ headers }) => headers.authorization)).toEqual(
      [0, 0, 1].map((index) => `Bearer ${keys[index]}`),
    );
  });

  it('is checked at start as far as it can be without reading it', () => {
    const provider = new OllamaModelProvider({ baseURL: 'http://[', apiKey: fileSecret('') });
    expect(provider.problems().map(({ pointer }) => pointer)).toEqual(['/baseURL', '/apiKey']);
  });

  it.each(['baseURL', 'ollamaHost'])('75, 84: of the environment does not go to another host (%s)', async (place) => {
    await using server = await wireServer(done('ok'));
    const options = { [place]: `${server.url}/v1/`, ollamaApiKey: KEY };
    await new OllamaModel('gpt-oss:120b-cloud', options).getResponse(requestOf({}));
    expect(server.received[0]?.headers).not.toHaveProperty('authorization');
    expect(server.received[0]).toMatchObject({ path: '/api/chat', body: { model: 'gpt-oss:120b-cloud' } });
  });

  it.each([301, 307, 308])('90: does not follow its host to another one (%i), nor does the question', async (code) => {
    await using other = await wireServer(done('ok'));
    await using server = await wireServer(status(code, '', { location: `${other.url}/api/chat` }));
    const call = new OllamaModel('test', { baseURL: server.url, apiKey: KEY }).getResponse(requestOf({}));
    await expect(call).rejects.toMatchObject({
      retryable: false,
      statusCode: code,
      message: expect.stringContaining(other.url),
      hint: expect.stringMatching(/OLLAMA_HOST/),
    });
    expect(other.received).toEqual([]);
  });
});

describe('the prefix of a name', () => {
  it('86: ends at the first slash', async () => {
    await using server = await wireServer(done('ok'));
    const provider = new MultiModelProvider({ ollamaHost: server.url });
    await (await provider.getModel('ollama/hf.co/org/model:Q4_K_M')).getResponse(requestOf({}));
    expect(server.received[0]?.body['model']).toBe('hf.co/org/model:Q4_K_M');
  });
});

describe('a model of Ollama', () => {
  it('88: prints nothing, whatever happens', async () => {
    const input: ModelRequest['input'] = [{ ...callItem('a', {}, 'c1'), arguments: '{' }];
    const shown = await printed(async () => {
      await ask(says(chunk({ thinking: 'Hm' }), lastChunk({}, { tool_calls: [toolCall('weather', `{'a':1}`)] })), {
        input,
        tools: [weatherTool],
      });
      for (const answerer of [htmlPage(502), reset, saysRaw('{"error":"no"}\n'), saysRaw('not json'), saysRaw('{')]) {
        await failing(answerer);
      }
      await refusal({ modelSettings: { toolChoice: 'nowhere' } });
    });
    expect(shown).toEqual([]);
  });
});
