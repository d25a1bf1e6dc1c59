import { embedTexts } from '../../../steps/memory/embed.js';
import { HoldfastError } from '../../core/errors/errors.js';
import { invalidConfig } from '../../core/field-errors.js';
import type { Embedding, MemorySpace } from '../../core/tools/memory-space.js';
import { failureText } from '../../models/failures/failure-text.js';
import { ModelCallError } from '../../models/failures/model-call-error.js';
import type { EmbeddingProvider } from '../../models/providers/embedding-provider.js';
import {
  addUnembedded,
  type DueDocument,
  keepVector,
  putOffEmbedding,
  renewOtherVectors,
  takeUnembedded,
} from '../../storage/memory/vectors.js';
import { elapsedMs } from '../concurrency/repeated-work.js';
import { untilStopped, workOff } from '../concurrency/work-off.js';
import type { EngineContext } from '../engine-context.js';

interface Declaring {
  readonly agents: ReadonlyMap<string, { readonly memory: ReadonlyMap<string, MemorySpace> | null }>;
  readonly memorySpaces: readonly MemorySpace[];
}

/** The spaces of a configuration and its agents, each once. */
export function declaredSpaces({ agents, memorySpaces }: Declaring): readonly MemorySpace[] {
  const all = [...memorySpaces, ...[...agents.values()].flatMap(({ memory }) => [...(memory?.values() ?? [])])];
  return [...new Map(all.map((space) => [space.name, space])).values()];
}

/** A space whose documents are found by meaning, too. */
interface EmbeddingSpace {
  readonly name: string;
  readonly embedding: Embedding;
}

export const embeddingSpaces = (declaring: Declaring): readonly EmbeddingSpace[] =>
  declaredSpaces(declaring).flatMap(({ name, embedding }) => (embedding === null ? [] : [{ name, embedding }]));

/** Looks whether there is a provider with a key for each embedding model; contacts no one. Throws `config_invalid`. */
export function assertEmbeddable(spaces: readonly EmbeddingSpace[], models: EmbeddingProvider): void {
  const fields = spaces.flatMap(({ name, embedding: { model } }) => {
    try {
      models.assertEmbeds?.(model);
      return [];
    } catch (error) {
      const why = failureText(error instanceof Error ? error.message : String(error));
      return [{ pointer: '/memorySpaces', detail: `the embedding model of the space ${name}: ${why}` }];
    }
  });
  if (fields.length > 0) throw invalidConfig('The memory', fields);
}

/** Documents of one request. */
const AT_ONCE = 32;
const REQUEST_MS = 60_000;
/** For so long other workers do not take the documents of a worker, which may die with them. */
const TAKEN_MS = 90_000;
/** How often a worker looks for documents without a row and for vectors of other models, and how many it finds at once. */
const FIND_EVERY_MS = 3_600_000;
const FOUND_AT_ONCE = 5000;
/** A model that does not answer is asked again after so long. */
const PAUSE_FIRST_MS = 5000;
const PAUSE_LONGEST_MS = 300_000;
/** A text that the model refuses is tried again after so long. */
const REFUSED_FIRST_MS = 3_600_000;
const REFUSED_LONGEST_MS = 24 * 3_600_000;
/** By these a server says that it does not take this text. */
const OF_THE_TEXT: ReadonlySet<number | null> = new Set([400, 413, 422]);

interface Pause {
  readonly untilMs: number;
  readonly failures: number;
}

type Due = DueDocument & { readonly tries: number };

/**
 * Makes the vectors that documents do not have yet. A worker that dies meanwhile leaves its documents to the others; what was asked for
 * twice is kept once.
 */
export function embedDocuments(context: EngineContext): (isStopping: () => boolean) => Promise<void> {
  const { stepContext, log } = context;
  const { knex, embeddings } = stepContext;
  const spaces = context.role === 'api' ? [] : embeddingSpaces(context);
  const pauses = new Map<string, Pause>();
  let foundAt = Number.NEGATIVE_INFINITY;

  const embed = async ({ embedding }: EmbeddingSpace, taken: readonly Due[], signal: AbortSignal): Promise<void> => {
    const late = AbortSignal.any([signal, AbortSignal.timeout(REQUEST_MS)]);
    const texts = taken.map(({ words }) => words);
    const vectors = await embedTexts(embeddings, embedding, texts, late);
    for (const [at, vector] of vectors.entries()) {
      const document = taken[at];
      if (document !== undefined) await keepVector(knex, document, embedding, vector);
    }
    pauses.delete(embedding.model);
  };

  /** One text that is refused must not keep the others from their vectors. */
  const embedEach = async (space: EmbeddingSpace, taken: readonly Due[], signal: AbortSignal): Promise<void> => {
    for (const [at, one] of taken.entries()) {
      try {
        await embed(space, [one], signal);
      } catch (error) {
        if (!isOfTheText(error)) {
          await failed(space, taken.slice(at), error, signal);
          return;
        }
        const waitMs = Math.min(REFUSED_LONGEST_MS, REFUSED_FIRST_MS * 2 ** Math.min(one.tries - 1, 10));
        await putOffEmbedding(knex, [one], waitMs);
        const data = { space: space.name, key: one.key, waitS: waitMs / 1000, error: String(error) };
        log.warn({ component: 'memory', event: 'embedding_refused', ...data }, 'an embedding model refused a document');
      }
    }
  };

  const failed = async (
    { embedding: { model } }: EmbeddingSpace,
    taken: readonly Due[],
    error: unknown,
    signal: AbortSignal,
  ): Promise<void> => {
    // The database is away: who comes when their time is over takes the documents.
    if (!(error instanceof HoldfastError)) throw error;
    await putOffEmbedding(knex, taken, 0);
    if (signal.aborted) return;
    const failures = (pauses.get(model)?.failures ?? 0) + 1;
    const asked = error instanceof ModelCallError ? (error.retryAfterMs ?? 0) : 0;
    const ownMs = PAUSE_FIRST_MS * 2 ** Math.min(failures - 1, 10);
    const waitMs = Math.min(PAUSE_LONGEST_MS, Math.max(asked, ownMs));
    pauses.set(model, { untilMs: elapsedMs() + waitMs, failures });
    log.warn(
      { component: 'memory', event: 'embedding_failed', model, waitS: waitMs / 1000, error: String(error) },
      'an embedding model did not make vectors of documents; the worker tries again',
    );
  };

  const embedSome = async (space: EmbeddingSpace, signal: AbortSignal): Promise<boolean> => {
    if ((pauses.get(space.embedding.model)?.untilMs ?? 0) > elapsedMs()) return false;
    const taken: readonly Due[] = await takeUnembedded(knex, { space: space.name, limit: AT_ONCE, forMs: TAKEN_MS });
    if (taken.length === 0) return false;
    try {
      await embed(space, taken, signal);
    } catch (error) {
      await (isOfTheText(error) ? embedEach(space, taken, signal) : failed(space, taken, error, signal));
    }
    return taken.length === AT_ONCE;
  };

  const find = async ({ name, embedding }: EmbeddingSpace, isStopping: () => boolean): Promise<void> => {
    const from = { space: name, limit: FOUND_AT_ONCE };
    while (!isStopping() && (await addUnembedded(knex, from)) === FOUND_AT_ONCE);
    while (!isStopping() && (await renewOtherVectors(knex, from, embedding)) === FOUND_AT_ONCE);
  };

  return async (isStopping) => {
    if (spaces.length === 0) return;
    if (elapsedMs() - foundAt >= FIND_EVERY_MS) {
      for (const space of spaces) await find(space, isStopping);
      foundAt = elapsedMs();
    }
    await untilStopped(isStopping, async (signal) => {
      const isBusy = (): boolean => context.running.runIds.length > 0;
      for (const space of spaces) await workOff({ batch: () => embedSome(space, signal), isBusy, isStopping });
    });
  };
}

const isOfTheText = (error: unknown): boolean =>
  error instanceof ModelCallError && !error.retryable && OF_THE_TEXT.has(error.statusCode);
