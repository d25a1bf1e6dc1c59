import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { demoConfig } from '../../../src/demo/config.js';
import {
  MultiModelProvider,
  nativeApi,
  OllamaModelProvider,
  openaiCompatible,
  providerProblems,
} from '../../../src/engine/agents/model-providers.js';
import { OllamaModel } from '../../../src/models/ollama/ollama-model.js';
import { MultiModelProviderMap } from '../../../src/models/providers/multi-model-provider.js';

const NAMES = [
  ...(['OLLAMA_HOST', 'OLLAMA_API_KEY', 'OPENAI_API_KEY', 'OPENAI_BASE_URL', 'VLLM_BASE_URL'] as const),
  ...(['PORT', 'HOLDFAST_ROLE', 'DATABASE_URL', 'HOLDFAST_TOKENS'] as const),
] as const;
const before = NAMES.map((name) => process.env[name]);
const forget = () => {
  for (const name of NAMES) delete process.env[name];
};

beforeEach(forget);
afterEach(() => {
  forget();
  NAMES.forEach((name, index) => {
    const value = before[index];
    if (value !== undefined) process.env[name] = value;
  });
});

const hostOf = async (provider: MultiModelProvider | OllamaModelProvider, name: string) => {
  const model = await provider.getModel(name);
  return model instanceof OllamaModel ? model.target.host : null;
};

describe('the providers of the library', () => {
  it('are local without settings', async () => {
    expect(await hostOf(new OllamaModelProvider(), 'llama3')).toBe('http://127.0.0.1:11434');
    expect(await hostOf(new MultiModelProvider(), 'ollama/llama3')).toBe('http://127.0.0.1:11434');
  });

  it('use the cloud when there is a key for it, also one that was set later', async () => {
    const providers = [new OllamaModelProvider(), new MultiModelProvider()] as const;
    process.env['OLLAMA_API_KEY'] = 'key-of-the-environment';
    expect(await hostOf(providers[0], 'llama3')).toBe('https://ollama.com');
    expect(await hostOf(providers[1], 'ollama/llama3')).toBe('https://ollama.com');
  });

  it('use OLLAMA_HOST, unless an address is given', async () => {
    process.env['OLLAMA_HOST'] = 'box:1';
    expect(await hostOf(new OllamaModelProvider(), 'llama3')).toBe('http://box:1');
    const custom = new OllamaModelProvider({ baseURL: 'http://custom-ollama:11434' });
    const provider_map = new MultiModelProviderMap();
    provider_map.addProvider('custom-ollama', custom);
    const provider = new MultiModelProvider({ provider_map });
    expect(await hostOf(provider, 'custom-ollama/llama3')).toBe('http://custom-ollama:11434');
    expect(await hostOf(provider, 'ollama/llama3')).toBe('http://box:1');
  });

  it('read nothing else of the environment, and each setting when a name needs it', async () => {
    Object.assign(process.env, { PORT: 'named-pipe', HOLDFAST_ROLE: 'king', DATABASE_URL: 'x', HOLDFAST_TOKENS: '{' });
    const openai = new MultiModelProviderMap();
    openai.addProvider('mine', { getModel: () => new OllamaModel('own') });
    expect(await hostOf(new MultiModelProvider(), 'ollama/llama3')).toBe('http://127.0.0.1:11434');
    expect(await hostOf(new OllamaModelProvider(), 'llama3')).toBe('http://127.0.0.1:11434');
    expect(demoConfig().agents).toHaveLength(1);
    process.env['OLLAMA_HOST'] = 'ftp://box';
    const wrong = { code: 'config_invalid', message: expect.stringContaining('OLLAMA_HOST') };
    await expect(new MultiModelProvider().getModel('ollama/llama3')).rejects.toMatchObject(wrong);
    await expect(new MultiModelProvider().getModel('vllm/some')).resolves.toBeDefined();
    await expect(new MultiModelProvider({ provider_map: openai }).getModel('mine/own')).resolves.toBeDefined();
  });

  it('name the variable whose address is none', async () => {
    process.env['OPENAI_API_KEY'] = 'key-of-the-environment';
    for (const [name, variable] of [
      ['gpt-5', 'OPENAI_BASE_URL'],
      ['vllm/some', 'VLLM_BASE_URL'],
    ] as const) {
      for (const address of ['junk', '::', 'ftp://box', 'http://box/v1?key=hush-hush']) {
        process.env[variable] = address;
        await expect(new MultiModelProvider().getModel(name), address).rejects.toMatchObject({
          code: 'config_invalid',
          message: `${variable} has a value that is not shown here; expected an address with http:// or https://, without a query.`,
        });
      }
    }
  });

  it('say what is missing where a program without types gives no options', () => {
    const made = [openaiCompatible, nativeApi].map((make) => Reflect.apply(make, null, [null]));
    const named = made.map((lab) => providerProblems({ lab }).map(({ pointer }) => pointer));
    expect(named).toEqual([['/providers/lab/baseURL'], ['/providers/lab/like']]);
    expect(providerProblems({ lab: Reflect.construct(OllamaModelProvider, [null]) })).toEqual([]);
  });

  it('read a setting once', async () => {
    const providers = [new OllamaModelProvider(), new MultiModelProvider()] as const;
    process.env['OLLAMA_HOST'] = 'box:1';
    for (const [host, name] of [
      ['box:1', 'a'],
      ['box:2', 'b'],
    ] as const) {
      process.env['OLLAMA_HOST'] = host;
      expect(await hostOf(providers[0], name)).toBe('http://box:1');
      expect(await hostOf(providers[1], `ollama/${name}`)).toBe('http://box:1');
    }
  });
});
