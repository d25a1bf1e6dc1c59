import type { ModelResponse, Usage } from '@openai/agents';
import { isRecord } from '../../core/json.js';
import { textOf } from '../failures/failure-causes.js';
import { ModelCallError } from '../failures/model-call-error.js';

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

/** Reasons of a server that failed after it began. */
const FAILED: ReadonlySet<string> = new Set(['error', 'abort', 'insufficient_system_resource']);

export const isFailedReason = (reason: string): boolean => FAILED.has(reason);

interface Response {
  readonly usage: Usage;
  readonly providerData?: ModelResponse['providerData'] | undefined;
}

/**
 * Returns why an answer ended, from where models keep the reason: `finishReason` of our own models and of the AI SDK, a choice of
 * Chat Completions, a response of the Responses API. Null where the model does not say.
 */
export function finishReasonIn({ providerData }: Pick<Response, 'providerData'>): string | null {
  if (providerData === undefined) return null;
  const said: unknown = providerData['finishReason'];
  const word = typeof said === 'string' ? said : (textOf(said, 'unified') ?? ofChoice(providerData['choices']));
  if (word !== null && word !== '') return finishReasonOf(word);
  if (providerData['status'] !== 'incomplete') return null;
  return finishReasonOf(textOf(providerData['incomplete_details'], 'reason') ?? 'length');
}

const ofChoice = (choices: unknown): string | null =>
  Array.isArray(choices) && isRecord(choices[0]) ? textOf(choices[0], 'finish_reason') : null;

/** Returns what is to be charged for an answer; null where the provider did not count. */
export const chargedUsage = ({ usage, providerData }: Response): Usage | null =>
  providerData?.['usageUnknown'] === true ? null : usage;

/** Whether an answer may be cut, so that its calls may be cut too. */
export const isCutReason = (reason: string | null): boolean => reason === 'length' || reason === 'content_filter';

type Item = ModelResponse['output'][number];

/** The SDK asks again for as long as an answer says nothing, so such an answer is a failure of the call. */
export const isEmptyAnswer = (output: readonly Item[]): boolean => output.every(saysNothing);

function saysNothing(item: Item): boolean {
  if (item.type === 'reasoning') return true;
  if (!('role' in item) || item.role !== 'assistant') return false;
  if (typeof item.content === 'string') return item.content === '';
  return item.content.every(
    (part) =>
      (part.type === 'output_text' && part.text.trim() === '') || (part.type === 'refusal' && part.refusal === ''),
  );
}

/** `usage`: what the server said that the answer used, which is paid for. */
export const emptyAnswer = (usage: Usage | null): ModelCallError =>
  new ModelCallError('model_failed', 'The answer is empty: it has neither a text nor a call.', {
    retryable: true,
    usage,
  });
