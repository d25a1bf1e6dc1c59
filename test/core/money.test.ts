import { describe, expect, test } from 'vitest';
import {
  configuredPrice,
  costOf,
  highestCostOf,
  priceOfConfigured,
  priceTable,
  type UsageParts,
} from '../../src/core/budgets/price.js';
import { nanosOf, usdOf, usdText } from '../../src/core/money.js';

const used = (parts: Partial<UsageParts>): UsageParts => ({
  ...{ inputTokens: 0, cachedInputTokens: 0, cacheWriteTokens: 0, outputTokens: 0, reasoningTokens: 0 },
  ...parts,
});

const GPT = priceOfConfigured({ inputPerMillion: '1.25', outputPerMillion: '10', cachedInputPerMillion: '0.125' });

describe('dollars as texts', () => {
  test.each([
    ['0', 0n],
    ['0.000000001', 1n],
    ['1.25', 1_250_000_000n],
    ['999999999.999999999', 999_999_999_999_999_999n],
  ])('%s is %d nano-dollars, and back', (text, nanos) => {
    expect(usdText.parse(text)).toBe(text);
    expect(nanosOf(text)).toBe(nanos);
    expect(usdOf(nanos)).toBe(text);
  });

  test.each(['', '1.', '.5', '01', '-1', '1e3', '1.0000000001', '1000000000', ' 1', '1,5', '$1', 'NaN'])(
    '"%s" is none',
    (text) => {
      expect(usdText.safeParse(text).success).toBe(false);
    },
  );

  test('the shortest text is given, also of what is owed', () => {
    expect([usdOf(2_000_000_000n), usdOf(500_000_000n), usdOf(-1n)]).toEqual(['2', '0.5', '-0.000000001']);
  });
});

describe('what a call costs', () => {
  test('each token counts once: cached ones are a part of the input, reasoning is a part of the output', () => {
    const usage = used({ inputTokens: 1_000_000, cachedInputTokens: 100_000, outputTokens: 1_000_000 });
    expect(usdOf(costOf(GPT, usage))).toBe('11.1375');
    expect(usdOf(costOf(GPT, { ...usage, reasoningTokens: 900_000 }))).toBe('11.1375');
  });

  test('reasoning and cache writes have rates of their own where they are given', () => {
    const price = priceOfConfigured({
      ...{ inputPerMillion: '1', outputPerMillion: '2', cacheWritePerMillion: '4', reasoningPerMillion: '3' },
      perCall: '0.5',
    });
    const usage = used({
      ...{ inputTokens: 3_000_000, cachedInputTokens: 1_000_000, cacheWriteTokens: 1_000_000 },
      ...{ outputTokens: 2_000_000, reasoningTokens: 1_000_000 },
    });
    // plain 1, cached as plain 1, written 4, output 2, reasoning 3, the call 0.5
    expect(usdOf(costOf(price, usage))).toBe('11.5');
  });

  test('a part that is said to be more than its whole is cut to it', () => {
    const usage = used({ inputTokens: 10, cachedInputTokens: 999, cacheWriteTokens: 999, reasoningTokens: 5 });
    expect(costOf(GPT, usage)).toBe(costOf(GPT, used({ inputTokens: 10, cachedInputTokens: 10 })));
  });

  test('the sum is rounded up once', () => {
    const price = priceOfConfigured({ inputPerMillion: '0.0001', outputPerMillion: '0.0001' });
    expect(costOf(price, used({ inputTokens: 1, outputTokens: 1 }))).toBe(1n);
    expect(costOf(price, used({ inputTokens: 5, outputTokens: 5 }))).toBe(1n);
    expect(costOf(price, used({ inputTokens: 6, outputTokens: 5 }))).toBe(2n);
  });

  test('above a length of the input the whole call has the rates of that tier', () => {
    const price = priceOfConfigured({
      ...{ inputPerMillion: '3', outputPerMillion: '15' },
      above: [
        { inputTokens: 200_000, inputPerMillion: '6', outputPerMillion: '22.5' },
        { inputTokens: 500_000, inputPerMillion: '8', outputPerMillion: '30' },
      ],
    });
    const cost = (inputTokens: number) => usdOf(costOf(price, used({ inputTokens, outputTokens: 1_000_000 })));
    expect([cost(200_000), cost(200_001), cost(1_000_000)]).toEqual(['15.6', '23.700006', '38']);
  });

  test('what is free costs nothing', () => {
    expect(costOf(priceOfConfigured('free'), used({ inputTokens: 1e9, outputTokens: 1e9 }))).toBe(0n);
  });

  test('the most that a call can cost is at least what any division of it costs', () => {
    const price = priceOfConfigured({
      ...{ inputPerMillion: '1', outputPerMillion: '2', cachedInputPerMillion: '0.1' },
      ...{ cacheWritePerMillion: '1.25', reasoningPerMillion: '3' },
    });
    const highest = highestCostOf(price, 1000, 500);
    for (let part = 0; part <= 500; part += 50) {
      const usage = used({ inputTokens: 1000, outputTokens: 500, reasoningTokens: part, cacheWriteTokens: part * 2 });
      expect(costOf(price, usage) <= highest).toBe(true);
    }
    expect(usdOf(highest)).toBe('0.00275');
  });
});

test.each([
  [{ 'a*b': 'free' }],
  [{ a: 'cheap' }],
  [{ a: { inputPerMillion: 1.25, outputPerMillion: '10' } }],
  [{ a: { inputPerMillion: '1.25' } }],
  [{ a: { inputPerMillion: '-1', outputPerMillion: '10' } }],
  [{ a: { inputPerMillion: '1', outputPerMillion: '10', input: '3' } }],
])('%j is no table of prices', (table) => {
  expect(priceTable.safeParse(table).success).toBe(false);
});

test('a price says what it is', () => {
  expect(configuredPrice.safeParse('free').success).toBe(true);
});
