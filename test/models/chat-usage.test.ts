import { expect, it } from 'vitest';
import { usagePartsOf } from '../../src/models/budgets/usage-tokens.js';
import { chatUsage } from '../../src/models/dialects/chat-answer.js';
import { dialectOf } from '../../src/models/dialects/dialect-of.js';

it.each([
  ['DeepSeek', { prompt_cache_hit_tokens: 64, prompt_cache_miss_tokens: 36 }, 64],
  ['OpenAI', { prompt_tokens_details: { cached_tokens: 64 } }, 64],
  ['both', { prompt_cache_hit_tokens: 64, prompt_tokens_details: { cached_tokens: 64 } }, 64],
  ['none', {}, 0],
])('what came from the cache of a server is cached input, in the words of %s', (_who, words, cachedInputTokens) => {
  const raw = { prompt_tokens: 100, completion_tokens: 10, total_tokens: 110, ...words };
  const usage = chatUsage(raw, dialectOf('deepseek', 'https://api.deepseek.com/v1'));
  expect(usagePartsOf(usage ?? undefined)).toMatchObject({ inputTokens: 100, outputTokens: 10, cachedInputTokens });
});
