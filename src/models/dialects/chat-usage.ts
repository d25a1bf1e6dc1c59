import { Usage } from '@openai/agents';
import type { Dialect } from './dialect.js';
import { fieldsIn, type UnknownFields } from './unknown-fields.js';

/** A count of tokens; null where the server gave none. */
const count = (fields: UnknownFields, ...names: readonly string[]): number | null => {
  for (const name of names) {
    const value = fields[name];
    if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 0) return value;
  }
  return null;
};

/**
 * Returns what an answer used; null where the server does not say both sides. `total_tokens` is what a provider charges by, so
 * tokens of the total that neither side has are counted: as input where exactly the cached ones are missing, else as output.
 */
export function chatUsage(raw: unknown, dialect: Dialect): Usage | null {
  const said = fieldsIn(raw);
  const ofInput = fieldsIn(said['prompt_tokens_details'] ?? said['input_tokens_details']);
  const ofOutput = fieldsIn(said['completion_tokens_details'] ?? said['output_tokens_details']);
  const cached =
    count(ofInput, 'cached_tokens') ??
    count(said, 'prompt_cache_hit_tokens', 'cached_tokens', 'cache_read_input_tokens') ??
    0;
  const written = count(ofInput, 'cache_write_tokens') ?? count(said, 'cache_creation_input_tokens') ?? 0;
  const reasoning = count(ofOutput, 'reasoning_tokens') ?? count(said, 'reasoning_tokens');
  const total = count(said, 'total_tokens') || null;
  let input = count(said, 'prompt_tokens', 'input_tokens');
  let output = count(said, 'completion_tokens', 'output_tokens');
  if (input === null && output !== null && total !== null) input = Math.max(0, total - output);
  if (output === null && input !== null && total !== null) output = Math.max(0, total - input);
  if (input === null || output === null || input + output === 0) return null;
  const missing = total === null ? 0 : total - input - output;
  if (missing > 0 && missing === cached + written && missing !== reasoning) input += missing;
  else if (missing > 0) output += missing;
  else if (total === null && reasoning !== null && (dialect.reasoningBeside || reasoning > output)) output += reasoning;
  return new Usage({
    requests: 1,
    inputTokens: input,
    outputTokens: output,
    totalTokens: input + output,
    inputTokensDetails: { cached_tokens: cached, ...(written === 0 ? {} : { cache_write_tokens: written }) },
    outputTokensDetails: { reasoning_tokens: Math.min(reasoning ?? Math.max(0, missing), output) },
  });
}
