/** Why a model ended an answer. A word that no provider's documentation has is passed on as it came. */
const REASONS: { readonly [word: string]: string } = {
  stop: 'stop',
  eos: 'stop',
  eos_token: 'stop',
  end_turn: 'stop',
  stop_sequence: 'stop',
  completed: 'stop',
  length: 'length',
  max_tokens: 'length',
  max_output_tokens: 'length',
  model_length: 'length',
  model_context_window_exceeded: 'length',
  tool_calls: 'tool_calls',
  tool_call: 'tool_calls',
  tool_use: 'tool_calls',
  function_call: 'tool_calls',
  content_filter: 'content_filter',
  safety: 'content_filter',
  sensitive: 'content_filter',
  refusal: 'content_filter',
  recitation: 'content_filter',
  blocklist: 'content_filter',
  prohibited_content: 'content_filter',
  spii: 'content_filter',
};

/** Returns a reason in the words of Chat Completions. Providers write them with hyphens, underscores and capitals. */
export const finishReasonOf = (word: string): string => {
  const plain = word.trim().toLowerCase().replaceAll('-', '_');
  return REASONS[plain] ?? plain;
};

/** Reasons by which a server says that it failed after it began. */
const FAILED: ReadonlySet<string> = new Set(['error', 'abort', 'insufficient_system_resource']);

export const isFailedReason = (reason: string): boolean => FAILED.has(reason);
