import { readFileSync } from 'node:fs';
import { Usage } from '@openai/agents';
import { describe, expect, test } from 'vitest';
import { costOf, priceTable } from '../../src/core/budgets/price.js';
import { usdOf } from '../../src/core/money.js';
import { PRICE_LIST_VERSION, PriceBook } from '../../src/models/budgets/price-book.js';
import { usagePartsOf } from '../../src/models/budgets/usage-tokens.js';

const NOW = Date.UTC(2026, 10, 22, 12);

const usage = (input: number, cached: number, output: number, reasoning = 0) => {
  const parts = usagePartsOf(
    new Usage({
      ...{ inputTokens: input, outputTokens: output, totalTokens: input + output },
      inputTokensDetails: [{ cached_tokens: cached }],
      outputTokensDetails: [{ reasoning_tokens: reasoning }],
    }),
  );
  if (parts === null) throw new Error('the usage says something');
  return parts;
};

describe('the book of prices', () => {
  test('knows the models of the list by their names, with what is cached counted once', async () => {
    const book = await PriceBook.open({}, null);
    const cost = (model: string, used = usage(1_000_000, 100_000, 1_000_000, 500_000)) => {
      const found = book.priceOf(model, NOW);
      return found === null ? null : usdOf(costOf(found.price, used));
    };
    expect(cost('gpt-5')).toBe('11.1375');
    expect(cost('openai/gpt-5')).toBe('11.1375');
    expect(cost('anthropic-native/claude-sonnet-4-5')).toBe(cost('anthropic/claude-sonnet-4-5'));
    expect(cost('google-native/gemini-2.5-pro')).toBe(cost('google/gemini-2.5-pro'));
    expect(cost('google-native/gemini-2.5-pro')).not.toBeNull();
    // Tiers: above 200,000 tokens of input.
    expect(cost('anthropic/claude-sonnet-4-5')).toBe('27.96');
    expect(cost('anthropic/claude-sonnet-4-5', usage(100_000, 0, 0))).toBe('0.3');
    expect(book.priceOf('openrouter/openai/gpt-5', NOW)?.name).toEqual({
      ...{ source: 'genai-prices', version: PRICE_LIST_VERSION },
    });
  });

  test('says that it does not know a price, and never that it is nothing', async () => {
    const book = await PriceBook.open({}, null);
    for (const name of [
      'openai/nonsense',
      'ollama/qwen3',
      'mine/gpt-5',
      'my-openai-proxy/gpt-5',
      'object/gpt-5',
      'openai/',
      'default',
    ])
      expect(book.priceOf(name, NOW), name).toBeNull();
  });

  test('goes by the configuration first, and by the longest name of it', async () => {
    const price = (usd: string) => ({ inputPerMillion: usd, outputPerMillion: usd });
    const prices = { 'gpt-5': price('1'), 'ollama/*': 'free' as const, 'ollama/big*': price('2'), '*': price('9') };
    const book = await PriceBook.open(prices, null);
    const cost = (model: string) => {
      const found = book.priceOf(model, NOW);
      return [found?.name.source, usdOf(costOf(found?.price ?? Object.assign({}), usage(1_000_000, 0, 0)))];
    };
    expect(cost('openai/gpt-5')).toEqual(['config', '1']);
    expect(cost('ollama/qwen3')).toEqual(['config', '0']);
    expect(cost('ollama/bigger')).toEqual(['config', '2']);
    expect(cost('anything/else')).toEqual(['config', '9']);
  });

  test('knows names of OpenAI without their prefix by their beginning too', async () => {
    const price = (usd: string) => ({ inputPerMillion: usd, outputPerMillion: usd });
    const book = await PriceBook.open(
      { 'gpt-5*': price('1'), 'gpt-5-mini*': price('2'), 'lab/gpt*': price('3') },
      null,
    );
    const cost = (model: string) => usdOf(book.priceOf(model, NOW)?.price.input.base ?? -1n);
    expect(['gpt-5', 'openai/gpt-5-pro', 'gpt-5-mini-x', 'lab/gpt-5'].map(cost)).toEqual(['1', '1', '2', '3']);
    expect(book.priceOf('mine/gpt-5', NOW)).toBeNull();
  });

  test('changes above a length what is said there alone', async () => {
    const parsed = priceTable.parse({
      m: {
        ...{ inputPerMillion: '3', outputPerMillion: '15' },
        above: [
          { inputTokens: 100, inputPerMillion: '6' },
          { inputTokens: 200, cachedInputPerMillion: '1', reasoningPerMillion: '20' },
        ],
      },
    });
    const price = (await PriceBook.open(parsed, null)).priceOf('m', NOW)?.price;
    if (price === undefined) throw new Error('it has a price');
    const cost = (input: number, cached: number, output: number, reasoning: number) =>
      usdOf(costOf(price, usage(input, cached, output, reasoning)));
    expect([cost(100, 50, 10, 10), cost(101, 50, 10, 10)]).toEqual(['0.00045', '0.000756']);
    expect(cost(201, 50, 20, 10)).toBe(usdOf(151n * 6000n + 50n * 1000n + 10n * 15_000n + 10n * 20_000n));
  });

  test('has a ceiling where nothing is known, which says that it is one', async () => {
    const book = await PriceBook.open({}, { inputPerMillion: '100', outputPerMillion: '100' });
    expect(book.priceOf('mine/model', NOW)?.name.source).toBe('ceiling');
    expect(book.priceOf('gpt-5', NOW)?.name.source).toBe('genai-prices');
  });

  test('a price that is configured has another version when it changes', async () => {
    const versions = await Promise.all(
      ['1', '1', '2'].map(async (usd) => {
        const book = await PriceBook.open({ m: { inputPerMillion: usd, outputPerMillion: '1' } }, null);
        return book.priceOf('m', NOW)?.name.version;
      }),
    );
    expect(versions[0]).toBe(versions[1]);
    expect(versions[2]).not.toBe(versions[0]);
  });

  test('a price that goes by the time of the day is that of the time', async () => {
    const book = await PriceBook.open({}, null);
    const at = (hour: number) => {
      const found = book.priceOf('deepseek/deepseek-chat', Date.UTC(2025, 5, 1, hour));
      return found === null ? null : usdOf(found.price.output.base);
    };
    expect([at(12), at(20), at(12)]).toEqual(['1.1', '0.55', '1.1']);
  });

  test('the version of the list is that of the package', () => {
    const { dependencies }: { dependencies: Record<string, string> } = JSON.parse(readFileSync('package.json', 'utf8'));
    expect(dependencies['@pydantic/genai-prices']).toBe(PRICE_LIST_VERSION);
  });
});

describe('what a provider says that it used', () => {
  test('nothing said is not nothing used', () => {
    expect(usagePartsOf(new Usage())).toBeNull();
    expect(usagePartsOf(undefined)).toBeNull();
  });

  test('one that says the same by two names is believed once', () => {
    const said = new Usage({
      ...{ inputTokens: 100, outputTokens: 1, totalTokens: 101 },
      inputTokensDetails: [{ cached_tokens: 40, cache_read_input_tokens: 40 }],
    });
    expect(usagePartsOf(said)).toMatchObject({ inputTokens: 100, cachedInputTokens: 40 });
  });
});
