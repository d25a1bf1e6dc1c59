import type { Model, ModelProvider } from '@openai/agents';
import { describe, expect, it } from 'vitest';
import { functionModel } from '../../src/models/function-model.js';
import { MultiModelProvider, parseModelName } from '../../src/models/multi-model-provider.js';
import { MultiModelProviderMap } from '../../src/models/multi-model-provider-map.js';
import { textItem } from './requests.js';

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
    await new MultiModelProvider({ provider_map }).getModel('custom/hf.co/org/model:Q4');
    expect(custom.names).toEqual(['hf.co/org/model:Q4']);
  });

  it('sees providers that are added later, and lets a map override the defaults', async () => {
    const provider_map = new MultiModelProviderMap();
    const provider = new MultiModelProvider({ provider_map });
    const openai = new AskedProvider();
    provider_map.addProvider('openai', openai);
    await provider.getModel('gpt-4');
    await provider.getModel('openai/gpt-5');
    expect(openai.names).toEqual(['gpt-4', 'gpt-5']);
  });

  it.each(['mistral/large', '/gpt-4', 'openai/', 'OLLAMA/llama3'])(
    'refuses %s and names what it knows',
    async (name) => {
      const provider_map = new MultiModelProviderMap();
      provider_map.addProvider('custom', new AskedProvider());
      await expect(new MultiModelProvider({ provider_map }).getModel(name)).rejects.toMatchObject({
        code: 'model_unknown',
        message: expect.stringMatching(/custom\/, .*openai\//),
      });
    },
  );

  it('misses a key only when a model of OpenAI is asked for', async () => {
    const { OPENAI_API_KEY: before } = process.env;
    delete process.env['OPENAI_API_KEY'];
    try {
      const provider = new MultiModelProvider();
      await expect(provider.getModel('gpt-4')).rejects.toMatchObject({
        code: 'model_unknown',
        hint: expect.stringContaining('OPENAI_API_KEY'),
      });
    } finally {
      if (before !== undefined) process.env['OPENAI_API_KEY'] = before;
    }
  });

  it('gives the same model for the same name', async () => {
    const provider = new MultiModelProvider({ openaiApiKey: 'test' });
    expect(await provider.getModel('openai/gpt-4')).toBe(await provider.getModel('gpt-4'));
  });
});
