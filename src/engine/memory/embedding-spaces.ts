import { invalidConfig } from '../../core/field-errors.js';
import type { Embedding, MemorySpace } from '../../core/tools/memory-space.js';
import { failureText } from '../../models/failures/failure-text.js';
import type { EmbeddingProvider } from '../../models/providers/embedding-provider.js';

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
export interface EmbeddingSpace {
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
