import type { z } from 'zod';
import { HoldfastError } from '../../src/core/errors/errors.js';
import { fusedOrder } from '../../src/core/memory/search-plan.js';
import type { queryShape } from '../../src/core/tools/memory-change.js';
import type { Embedding, MemorySpace } from '../../src/core/tools/memory-space.js';
import { MEMORY_LIMITS } from '../../src/core/tools/tool-memory.js';
import { ModelCallError } from '../../src/models/failures/model-call-error.js';
import { AttemptRefused } from '../../src/models/providers/single-attempt.js';
import { latestKeys, type MemoryPlace } from '../../src/storage/memory/documents.js';
import { type FoundKeys, searchKeys } from '../../src/storage/memory/search.js';
import { nearestDocuments } from '../../src/storage/memory/vectors.js';
import type { StepContext } from '../context.js';
import { withDatabaseRetry } from '../database-retry.js';
import { embedQuery } from './embed.js';

type Query = z.output<typeof queryShape>;

/** Keys in the order of an answer, and what of the documents was not looked at. */
interface Found extends FoundKeys {
  readonly wordsOnly: boolean;
}

const all = (keys: readonly string[]): Found => ({ keys, olderLeft: false, wordsOnly: false });

/**
 * Finds documents of a part of a space: by key, by words, by vector, by both of these, or those that were changed last. Throws
 * `memory_invalid` for a way that the space does not have, and `model_failed` where there is no other way.
 */
export async function findKeys(
  ctx: Pick<StepContext, 'knex' | 'embeddings' | 'signs'>,
  { place, space }: { readonly place: MemoryPlace; readonly space: MemorySpace },
  { key, query, match, by, limit }: Query,
): Promise<Found> {
  const { embedding } = space;
  if (embedding === null && by !== undefined && by !== 'words')
    throw new HoldfastError(
      'memory_invalid',
      `The space ${space.name} has no embedding, so that its documents are found by words alone.`,
      {
        hint: 'Leave out `by`, or declare an embedding model: memorySpace({ embedding }); docs/agents/memory-by-meaning.md.',
      },
    );
  if (key !== undefined) return all([key]);
  if (query === undefined) return all(await withDatabaseRetry(() => latestKeys(ctx.knex, place, limit)));
  const byWords = (most: number) => withDatabaseRetry(() => searchKeys(ctx.knex, place, { query, match, limit: most }));
  if (embedding === null || by === 'words') return { ...(await byWords(limit)), wordsOnly: false };
  const one = { query, embedding, place };
  if (by === 'meaning') {
    const { keys, missing } = await nearestKeys(ctx, one, limit);
    return { keys, olderLeft: false, wordsOnly: missing };
  }
  const [words, near] = await Promise.all([
    byWords(MEMORY_LIMITS.documents),
    nearestKeys(ctx, one, MEMORY_LIMITS.documents).catch(noAnswer),
  ]);
  const keys = near === null ? words.keys.slice(0, limit) : fusedOrder([words.keys, near.keys], limit);
  return { keys, olderLeft: words.olderLeft, wordsOnly: near?.missing ?? true };
}

interface MeaningQuery {
  readonly query: string;
  readonly embedding: Embedding;
  readonly place: MemoryPlace;
}

async function nearestKeys(
  { knex, embeddings, signs }: Pick<StepContext, 'knex' | 'embeddings' | 'signs'>,
  { query, embedding, place }: MeaningQuery,
  limit: number,
): Promise<{ readonly keys: readonly string[]; readonly missing: boolean }> {
  const vector = await embedQuery(embeddings, embedding, query);
  const { near, missing } = await withDatabaseRetry(() =>
    nearestDocuments({ db: knex, signs }, place, embedding, { vector, limit }),
  );
  return { keys: near.map(({ key }) => key), missing };
}

/** Documents are found by words where the model does not answer, or no budget has room for asking it. */
function noAnswer(error: unknown): null {
  if (error instanceof ModelCallError || error instanceof AttemptRefused) return null;
  throw error;
}
