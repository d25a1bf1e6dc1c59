import type { z } from 'zod';
import { failureText } from '../failures/failure-text.js';
import { ModelCallError } from '../failures/model-call-error.js';

/** Texts that a model makes vectors of. */
export interface EmbeddingRequest {
  /** The name of the model, as the server has it. */
  readonly model: string;
  readonly texts: readonly string[];
  readonly signal?: AbortSignal;
  /** Is to hear how many tokens the server has counted, where it says so: by these the request is charged. */
  readonly used?: (inputTokens: number) => void;
}

/** A provider whose server makes vectors of texts. */
export interface EmbeddingProvider {
  /** Returns a vector for each text, in their order, as the server gave them. Asks once: the caller tries again. */
  embed(request: EmbeddingRequest): Promise<readonly (readonly number[])[]>;
  /** Throws where no request for this model could leave, such as for a missing key. Contacts no one. */
  assertEmbeds?(model: string): unknown;
}

export const makesEmbeddings = (provider: object): provider is EmbeddingProvider =>
  'embed' in provider && typeof provider.embed === 'function';

export function firstProblem({ issues }: z.ZodError): string {
  const [issue] = issues;
  return issue === undefined ? '' : `${issue.path.map(String).join('.')}: ${issue.message}`;
}

/** What a server answers that gives no vector for each text. */
export const wrongEmbeddings = (model: string, why: string): ModelCallError =>
  new ModelCallError('model_failed', failureText(`The answer of ${model} has no vector for each text: ${why}.`), {
    retryable: false,
    hint: 'Use a model that makes embeddings.',
  });
