import type { ModelProvider } from '@openai/agents';
import { HoldfastError } from '../../core/errors/errors.js';

/** Which provider serves the model names with a prefix: `custom/llama3` is served by the provider of `custom`. */
export class MultiModelProviderMap {
  #providers = new Map<string, ModelProvider>();

  /** Replaces an earlier provider of the prefix. Throws `invalid_request` for a prefix that no name can have. */
  addProvider(prefix: string, provider: ModelProvider): void {
    this.#providers.set(checked(prefix), provider);
  }

  getProvider(prefix: string): ModelProvider | undefined {
    return this.#providers.get(prefix);
  }

  hasProvider(prefix: string): boolean {
    return this.#providers.has(prefix);
  }

  removeProvider(prefix: string): void {
    this.#providers.delete(prefix);
  }

  /** A copy: changing it changes nothing here. */
  getMapping(): Map<string, ModelProvider> {
    return new Map(this.#providers);
  }

  /** Replaces all providers. */
  setMapping(mapping: ReadonlyMap<string, ModelProvider>): void {
    this.#providers = new Map([...mapping].map(([prefix, provider]) => [checked(prefix), provider]));
  }
}

function checked(prefix: string): string {
  if (/^[^\s/]+$/.test(prefix)) return prefix;
  throw new HoldfastError(
    'invalid_request',
    `The model prefix ${JSON.stringify(prefix)} can never match: a prefix is not empty and has no slash and no space.`,
  );
}
