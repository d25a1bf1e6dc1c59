import type { Usage } from '@openai/agents';
import type { UsageParts } from '../../core/budgets/price.js';

const whole = (count: unknown): number => (Number.isSafeInteger(count) && Number(count) > 0 ? Number(count) : 0);

const sumOf = (details: Usage['inputTokensDetails'] | undefined, names: readonly string[]): number =>
  (Array.isArray(details) ? details : []).reduce(
    (sum, detail) => sum + names.reduce((most, name) => Math.max(most, whole(detail?.[name])), 0),
    0,
  );

/** Of providers that say the same by several names, the largest counts. */
const CACHED = ['cached_tokens', 'cache_read_tokens', 'cache_read_input_tokens'];
const WRITTEN = ['cache_write_tokens', 'cache_creation_tokens', 'cache_creation_input_tokens'];
const REASONING = ['reasoning_tokens'];

/** What a response says that it used; null: it says nothing. */
export function usagePartsOf(usage: Usage | undefined): UsageParts | null {
  const inputTokens = whole(usage?.inputTokens);
  const outputTokens = whole(usage?.outputTokens);
  if (inputTokens + outputTokens === 0) return null;
  return {
    inputTokens,
    outputTokens,
    cachedInputTokens: Math.min(inputTokens, sumOf(usage?.inputTokensDetails, CACHED)),
    cacheWriteTokens: Math.min(inputTokens, sumOf(usage?.inputTokensDetails, WRITTEN)),
    reasoningTokens: Math.min(outputTokens, sumOf(usage?.outputTokensDetails, REASONING)),
  };
}
