import pRetry, { AbortError } from 'p-retry';
import { HoldfastError } from '../../src/core/errors/errors.js';
import { vectorOf } from '../../src/core/memory/vectors.js';
import type { Embedding } from '../../src/core/tools/memory-space.js';
import { isAbort } from '../../src/models/failures/failure-causes.js';
import { ModelCallError } from '../../src/models/failures/model-call-error.js';
import type { EmbeddingProvider } from '../../src/models/providers/embedding-provider.js';
import { withoutKnownSecrets } from '../../src/models/secrets/known-secrets.js';

/** A call waits no longer for the vector of its query. */
const QUERY_MS = 10_000;
const QUERY_ATTEMPTS = 2;
/** Characters of a text that a model gets. */
const TEXT_CHARS = 8000;

/** Makes vectors of texts by one request. Throws `model_failed` where an answer has none that fits. */
export async function embedTexts(
  embeddings: EmbeddingProvider,
  { model, dimensions }: Embedding,
  texts: readonly string[],
  signal: AbortSignal,
): Promise<readonly Float32Array[]> {
  const cut = texts.map((text) => withoutKnownSecrets(text).slice(0, TEXT_CHARS).toWellFormed());
  const made = await embeddings.embed({ model, texts: cut, signal }).catch((error: unknown) => {
    throw embeddingFailure(error, model, signal);
  });
  return texts.map((_, at) => {
    const numbers = made[at] ?? [];
    const vector = vectorOf(numbers, dimensions);
    if (vector !== null) return vector;
    const message = `${model} gave a vector of ${numbers.length} numbers, where ${dimensions} finite ones are expected that are not all zero.`;
    const hint = 'Set `embedding.dimensions` of the space to the numbers of a vector of the model, or fewer.';
    throw new ModelCallError('model_failed', message, { retryable: false, hint });
  });
}

/** Makes the vector of a query, for a call that waits for it. Throws `model_failed`. */
export async function embedQuery(
  embeddings: EmbeddingProvider,
  embedding: Embedding,
  query: string,
): Promise<Float32Array> {
  const signal = AbortSignal.timeout(QUERY_MS);
  const [vector] = await pRetry(
    () =>
      embedTexts(embeddings, embedding, [query], signal).catch((error: unknown) => {
        throw error instanceof ModelCallError && error.retryable && !signal.aborted
          ? error
          : new AbortError(error instanceof Error ? error : new Error(String(error)));
      }),
    { retries: QUERY_ATTEMPTS - 1, minTimeout: 200, randomize: true },
  );
  if (vector === undefined) throw new Error('a query has one vector');
  return vector;
}

/** What a provider throws, as a failure of the model. Wrong settings stay what they are. */
function embeddingFailure(error: unknown, model: string, signal: AbortSignal): unknown {
  if (error instanceof HoldfastError) return error;
  const isLate = signal.aborted && isAbort(error);
  const what = isLate ? 'did not answer in time' : `failed: ${error instanceof Error ? error.message : String(error)}`;
  return new ModelCallError('model_failed', `${model} ${what}.`, { retryable: true, cause: error });
}
