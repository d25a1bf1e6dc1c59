import type { ModelResponse, Usage } from '@openai/agents';
import { ModelCallError } from '../failures/model-call-error.js';

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
