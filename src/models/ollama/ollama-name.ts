import { HoldfastError } from '../../core/errors/errors.js';

export interface OllamaName {
  /** As it was asked for, without spaces around it. */
  readonly original: string;
  /** Without the part that says where the model runs. */
  readonly base: string;
  /** Where the name says that the model runs; null: it does not say. */
  readonly source: 'cloud' | 'local' | null;
}

/**
 * Reads a model name as Ollama's own server does (its package `modelref`): the tag after the last colon names the source
 * if it is `cloud` or `local`, or if it ends with `-cloud`. `my-cloud-model` and `foo:bar-cloud/baz` say nothing.
 * Throws `model_unknown` for a blank name and for one with two sources.
 */
export function parseOllamaName(raw: string): OllamaName {
  const original = raw.trim();
  if (original === '') {
    throw new HoldfastError('model_unknown', 'The name of the Ollama model is blank.', { hint: 'Use ollama/<name>.' });
  }
  const named = sourceOf(original);
  if (named === null) return { original, base: original, source: null };
  if (named.base.trim() === '' || sourceOf(named.base) !== null) {
    throw new HoldfastError(
      'model_unknown',
      `The Ollama model "${original}" must name a model and at most one source.`,
      {
        hint: 'Use <name>:cloud or <name>:local, not both.',
      },
    );
  }
  return { original, ...named };
}

function sourceOf(name: string): { readonly base: string; readonly source: 'cloud' | 'local' } | null {
  const colon = name.lastIndexOf(':');
  if (colon === -1) return null;
  const tag = name.slice(colon + 1).trim();
  const lower = tag.toLowerCase();
  if (lower === 'cloud' || lower === 'local') return { base: name.slice(0, colon), source: lower };
  if (tag.includes('/') || !lower.endsWith('-cloud')) return null;
  return { base: name.slice(0, colon + 1) + tag.slice(0, -'-cloud'.length), source: 'cloud' };
}
