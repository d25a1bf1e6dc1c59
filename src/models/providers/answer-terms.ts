import type { ModelResponse, Usage } from '@openai/agents';
import { isRecord } from '../../core/json.js';
import { textOf } from '../failures/failure-causes.js';
import { finishReasonOf } from './finish-reason.js';

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
