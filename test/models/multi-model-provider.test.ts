import { type Model, type ModelProvider, setDefaultOpenAIClient, withTrace } from '@openai/agents';
import OpenAI from 'openai';
import { describe, expect, it } from 'vitest';
import { MODEL_PROVIDERS } from '../../src/core/models/model-provider-table.js';
import { functionModel } from '../../src/models/providers/function-model.js';
import {
  MultiModelProvider,
  MultiModelProviderMap,
  parseModelName,
} from '../../src/models/providers/multi-model-provider.js';
import { requestOf, textItem } from './requests.js';
import { responds, textOutput } from './servers/openai-server.js';
import { wireServer } from './servers/wire-server.js';

const unset = () => null;

/** A provider that remembers which names it was asked for. */
class AskedProvider implements ModelProvider {
  readonly names: (string | undefined)[] = [];

  getModel(modelName?: string): Model {
    this.names.push(modelName);
    return functionModel(modelName ?? '', () => [textItem('ok')]);
  }
}

describe('the map of providers', () => {
  it('adds, finds, replaces and removes', () => {
    const map = new MultiModelProviderMap();
    const [one, two] = [new AskedProvider(), new AskedProvider()];
    map.addProvider('mine', one);
    expect(map.hasProvider('mine')).toBe(true);
    map.addProvider('mine', two);
    expect(map.getProvider('mine')).toBe(two);
    map.removeProvider('mine');
    expect([map.hasProvider('mine'), map.getProvider('mine')]).toEqual([false, undefined]);
  });

  it('hands out and takes copies of its mapping', () => {
    const map = new MultiModelProviderMap();
    const mapping = new Map([['a', new AskedProvider()]]);
    map.setMapping(mapping);
    mapping.clear();
    map.getMapping().clear();
    expect([...map.getMapping().keys()]).toEqual(['a']);
  });

  it.each(['', 'a/b', 'a b'])('refuses the prefix %j, which no name can have', (prefix) => {
    expect(() => new MultiModelProviderMap().addProvider(prefix, new AskedProvider())).toThrow(/can never match/);
  });
});

describe('routing by prefix', () => {
  it.each([
    ['gpt-4', null, 'gpt-4'],
    ['openai/gpt-4', 'openai', 'gpt-4'],
    ['ollama/llama3', 'ollama', 'llama3'],
    ['ollama/hf.co/org/model:Q4_K_M', 'ollama', 'hf.co/org/model:Q4_K_M'],
    ['/x', '', 'x'],
    ['ollama/', 'ollama', ''],
  ])('reads %s', (name, prefix, rest) => {
    expect(parseModelName(name)).toEqual({ prefix, name: rest });
  });

  it('gives a custom provider the name behind the first slash', async () => {
    const provider_map = new MultiModelProviderMap();
    const custom = new AskedProvider();
    provider_map.addProvider('custom', custom);
    await new MultiModelProvider({ provider_map }, unset).getModel('custom/hf.co/org/model:Q4');
    expect(custom.names).toEqual(['hf.co/org/model:Q4']);
  });

  it('sees providers that are added later, and lets a map override the defaults', async () => {
    const provider_map = new MultiModelProviderMap();
    const provider = new MultiModelProvider({ provider_map }, unset);
    const openai = new AskedProvider();
    provider_map.addProvider('openai', openai);
    await provider.getModel('gpt-4');
    await provider.getModel('openai/gpt-5');
    expect(openai.names).toEqual(['gpt-4', 'gpt-5']);
  });

  it.each(['nobody/large', '/gpt-4', 'openai/', 'OLLAMA/llama3'])(
    'refuses %s and names what it knows',
    async (name) => {
      const provider_map = new MultiModelProviderMap();
      provider_map.addProvider('custom', new AskedProvider());
      await expect(new MultiModelProvider({ provider_map }, unset).getModel(name)).rejects.toMatchObject({
        code: 'model_unknown',
        message: expect.stringMatching(/custom\/, .*openai\//),
      });
    },
  );

  it.each([
    ['gpt-4', 'OPENAI_API_KEY'],
    ['anthropic/claude-sonnet-4-6', 'ANTHROPIC_API_KEY'],
    ['google/gemini-3-pro', 'GEMINI_API_KEY'],
  ])('names the variable of the key that %s needs', async (name, variable) => {
    await expect(new MultiModelProvider({}, unset).getModel(name)).rejects.toMatchObject({
      code: 'model_unknown',
      message: expect.stringContaining(variable),
      hint: expect.stringContaining(variable),
    });
  });

  it.each(Object.keys(MODEL_PROVIDERS))(
    'serves %s/ with the key of its variable, and contacts no one',
    async (prefix) => {
      const variable = (name: string) => (name === MODEL_PROVIDERS[prefix]?.keyVariable ? 'a-key-of-the-test' : null);
      const provider = new MultiModelProvider({}, variable);
      expect(await provider.getModel(`${prefix}/some-model`)).toBeDefined();
    },
  );

  it.each(['vllm/qwen', 'llamacpp/qwen', 'lmstudio/qwen'])('serves %s without a key', async (name) => {
    expect(await new MultiModelProvider({}, unset).getModel(name)).toBeDefined();
  });

  it("keeps to the client that a program gave the SDK as OpenAI's", async () => {
    await using server = await wireServer(responds([textOutput('mine')], 'mine'));
    setDefaultOpenAIClient(new OpenAI({ apiKey: 'of-the-program', baseURL: `${server.url}/v1` }));
    try {
      const model = await new MultiModelProvider({}, unset).getModel('gpt-4');
      await withTrace('test', () => model.getResponse(requestOf({})));
      expect(server.received[0]?.headers.authorization).toBe('Bearer of-the-program');
    } finally {
      Reflect.apply(setDefaultOpenAIClient, undefined, [undefined]);
    }
  });

  it('gives the same model for the same name', async () => {
    const provider = new MultiModelProvider({ openaiApiKey: 'test' }, unset);
    expect(await provider.getModel('openai/gpt-4')).toBe(await provider.getModel('gpt-4'));
  });
});
