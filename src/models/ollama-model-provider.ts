import type { ModelProvider } from '@openai/agents';
import { OllamaModel, type OllamaModelOptions } from './ollama-model.js';

/**
 * Gives models of Ollama by name. Nothing is created before the first name and nothing is contacted before the first call;
 * where a model is served is decided for each name on its own.
 */
export class OllamaModelProvider implements ModelProvider {
  readonly #options: () => OllamaModelOptions;
  readonly #models = new Map<string, OllamaModel>();

  /** Options that are a function are asked for with each new name. */
  constructor(options: OllamaModelOptions | (() => OllamaModelOptions) = {}) {
    this.#options = typeof options === 'function' ? options : () => options;
  }

  /** Throws `model_unknown` for a blank name, for one that contradicts its host and for a cloud model without a key. */
  async getModel(modelName = ''): Promise<OllamaModel> {
    const known = this.#models.get(modelName);
    if (known !== undefined) return known;
    const model = new OllamaModel(modelName, this.#options());
    this.#models.set(modelName, model);
    return model;
  }
}
