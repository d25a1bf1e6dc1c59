import { describe, expect, it } from 'vitest';
import { ollamaAddress } from '../../src/core/ollama-address.js';
import { ollamaTarget } from '../../src/models/ollama-host.js';
import { OllamaModelProvider } from '../../src/models/ollama-model-provider.js';
import { parseOllamaName } from '../../src/models/ollama-name.js';

const CLOUD = 'https://ollama.com';
const LOCAL = 'http://127.0.0.1:11434';
const KEY = 'the-key-0123456789';

describe('the name of an Ollama model', () => {
  it.each([
    ['llama3', 'llama3', null],
    ['gpt-oss:120b-cloud', 'gpt-oss:120b', 'cloud'],
    ['gpt-oss:20b:cloud', 'gpt-oss:20b', 'cloud'],
    ['qwen3:cloud', 'qwen3', 'cloud'],
    ['qwen3:CLOUD', 'qwen3', 'cloud'],
    ['qwen3:8b:local', 'qwen3:8b', 'local'],
    ['my-cloud-model', 'my-cloud-model', null],
    ['my-cloud', 'my-cloud', null],
    ['foo:bar-cloud/baz', 'foo:bar-cloud/baz', null],
    [' hf.co/org/model:Q4_K_M ', 'hf.co/org/model:Q4_K_M', null],
  ])('%s is %s of %s', (raw, base, source) => {
    expect(parseOllamaName(raw)).toEqual({ original: raw.trim(), base, source });
  });

  it.each(['', '   ', ':cloud', 'foo:cloud:local', 'foo:local:cloud', 'foo:1b-cloud:cloud'])('refuses %j', (raw) => {
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
  ])('%s is %s', (text, host) => {
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
    ['locally, if nothing is said', 'llama3', {}, LOCAL, 'llama3', {}],
    ['in the cloud, if there is a key', 'llama3', { ollamaApiKey: KEY }, CLOUD, 'llama3', authorization(KEY)],
    [
      'in the cloud, if the tag says so',
      'gpt-oss:120b-cloud',
      { apiKey: KEY },
      CLOUD,
      'gpt-oss:120b',
      authorization(KEY),
    ],
    ['locally, if the tag says so', 'qwen3:8b:local', { ollamaApiKey: KEY }, LOCAL, 'qwen3:8b', {}],
    [
      'at an explicit address, with its name unchanged and without the key of the cloud',
      'gpt-oss:120b-cloud',
      { baseURL: 'http://box:1', ollamaApiKey: KEY },
      'http://box:1',
      'gpt-oss:120b-cloud',
      {},
    ],
    ['at OLLAMA_HOST', 'llama3', { ollamaHost: 'box', ollamaApiKey: KEY }, 'http://box:11434', 'llama3', {}],
    [
      'at OLLAMA_HOST without a key that has no address',
      'llama3',
      { ollamaHost: 'box', apiKey: KEY },
      'http://box:11434',
      'llama3',
      {},
    ],
    [
      'at an explicit address, with the key that was given for it',
      'llama3',
      { baseURL: 'https://box', apiKey: KEY, ollamaApiKey: 'other' },
      'https://box',
      'llama3',
      authorization(KEY),
    ],
    [
      'at the cloud as an explicit address',
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
  ])('is %s', (_where, name, options, host, model, headers) => {
    expect(ollamaTarget(name, options)).toMatchObject({ host, model, headers });
  });

  it.each([
    ['a cloud without a key', 'gpt-oss:120b-cloud', {}, /OLLAMA_API_KEY/],
    ['the cloud as an address, without a key', 'llama3', { baseURL: CLOUD }, /OLLAMA_API_KEY/],
    ['a local model in the cloud', 'llama3:local', { baseURL: CLOUD, apiKey: KEY }, /:local/],
  ])('is refused before anything is sent: %s', (_what, name, options, hint) => {
    expect(() => ollamaTarget(name, options)).toThrow(
      expect.objectContaining({ code: 'model_unknown', hint: expect.stringMatching(hint) }),
    );
  });
});

describe('OllamaModelProvider', () => {
  it('decides for each name on its own', async () => {
    const provider = new OllamaModelProvider({ apiKey: KEY });
    const hosts = await Promise.all(
      ['llama3:local', 'gpt-oss:120b-cloud', 'llama3:local'].map((name) => provider.getModel(name)),
    );
    expect(hosts.map(({ target }) => target.host)).toEqual([LOCAL, CLOUD, LOCAL]);
    expect(hosts[0]).toBe(hosts[2]);
  });

  it('contacts nobody before the first call', async () => {
    const provider = new OllamaModelProvider({ baseURL: 'http://127.0.0.1:1' });
    await expect(provider.getModel('llama3')).resolves.toMatchObject({ name: 'llama3' });
  });

  it('refuses a missing name', async () => {
    await expect(new OllamaModelProvider().getModel()).rejects.toMatchObject({ code: 'model_unknown' });
  });
});
