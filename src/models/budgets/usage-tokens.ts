import type { ModelRequest, Usage } from '@openai/agents';
import type { UsageParts } from '../../core/budgets/price.js';

/** No call uses more. A server that counts further has counted nothing. */
const MOST_TOKENS = 1_000_000_000;

/** A count of tokens; null: it is none. */
export const tokenCount = (count: unknown): number | null =>
  typeof count === 'number' && Number.isInteger(count) && count >= 0 && count <= MOST_TOKENS ? count : null;

const whole = (count: unknown): number => tokenCount(count) ?? 0;

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
  const inputTokens = tokenCount(usage?.inputTokens);
  const outputTokens = tokenCount(usage?.outputTokens);
  if (inputTokens === null || outputTokens === null || inputTokens + outputTokens === 0) return null;
  return {
    inputTokens,
    outputTokens,
    cachedInputTokens: Math.min(inputTokens, sumOf(usage?.inputTokensDetails, CACHED)),
    cacheWriteTokens: Math.min(inputTokens, sumOf(usage?.inputTokensDetails, WRITTEN)),
    reasoningTokens: Math.min(outputTokens, sumOf(usage?.outputTokensDetails, REASONING)),
  };
}

/** Few tokens are shorter, in any script. */
const BYTES_PER_TOKEN = 3;
/** What an image or another file that is sent along is taken for: its bytes say nothing. */
const FILE = 'x'.repeat(2000 * BYTES_PER_TOKEN);
const FILE_FIELDS: ReadonlySet<string> = new Set(['image', 'imageUrl', 'image_url', 'file', 'audio', 'data']);

/** How many tokens a request has, estimated from above: what is reserved for it. */
export function requestTokens({ systemInstructions, input, tools, handoffs, outputType }: ModelRequest): number {
  const text = JSON.stringify([systemInstructions, input, tools, handoffs, outputType], (field, value: unknown) =>
    typeof value === 'string' && value.length > FILE.length && FILE_FIELDS.has(field) ? FILE : value,
  );
  return Math.ceil(Buffer.byteLength(text) / BYTES_PER_TOKEN);
}
