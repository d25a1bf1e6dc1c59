import { z } from 'zod';
import { tokenCount } from '../budgets/usage-tokens.js';
import { abortError } from '../providers/abort.js';
import { type EmbeddingRequest, firstProblem, wrongEmbeddings } from '../providers/embedding-provider.js';
import type { Endpoint } from './endpoint.js';
import { endpointFailure } from './endpoint-calls.js';
import type { EndpointClient } from './openai-client.js';

const answer = z.looseObject({
  data: z.array(z.looseObject({ index: z.int().min(0), embedding: z.array(z.number()) })),
  usage: z.looseObject({ prompt_tokens: z.unknown() }).nullish().catch(null),
});

/** Asks `POST /embeddings` of an endpoint once. Throws as its models do. */
export async function openaiEmbeddings(
  client: EndpointClient,
  endpoint: Endpoint,
  { model, texts, signal, used }: EmbeddingRequest,
): Promise<readonly (readonly number[])[]> {
  try {
    const body = { model, input: [...texts], encoding_format: 'float' as const };
    const made: unknown = await client.embeddings.create(body, signal === undefined ? {} : { signal });
    return vectorsIn(made, model, texts.length, used);
  } catch (error) {
    throw signal?.aborted === true ? abortError(signal) : endpointFailure(error, endpoint, model, false);
  }
}

function vectorsIn(
  made: unknown,
  model: string,
  count: number,
  used: EmbeddingRequest['used'],
): readonly (readonly number[])[] {
  const parsed = answer.safeParse(made);
  if (!parsed.success) throw wrongEmbeddings(model, firstProblem(parsed.error));
  const tokens = tokenCount(parsed.data.usage?.prompt_tokens);
  if (tokens !== null) used?.(tokens);
  const byIndex = new Map(parsed.data.data.map(({ index, embedding }) => [index, embedding]));
  return Array.from({ length: count }, (_, index) => {
    const vector = byIndex.get(index);
    if (vector === undefined) throw wrongEmbeddings(model, `number ${index} of ${count} is missing`);
    return vector;
  });
}
