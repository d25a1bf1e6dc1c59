import type { Model, ModelProvider } from '@openai/agents';
import { readSettings } from '../config.js';
import {
  MultiModelProvider as ConfiguredMultiModelProvider,
  type MultiModelProviderOptions,
} from '../models/multi-model-provider.js';
import type { OllamaModel, OllamaModelOptions } from '../models/ollama-model.js';
import { OllamaModelProvider as ConfiguredOllamaModelProvider } from '../models/ollama-model-provider.js';

/** The providers of the public library: what their options do not say, OLLAMA_HOST and OLLAMA_API_KEY of the environment do. */

function environment(): { readonly ollamaHost: string | null; readonly ollamaApiKey: string | null } {
  const { ollamaHost, ollamaApiKey } = readSettings();
  return { ollamaHost, ollamaApiKey };
}

/** Gives models of Ollama by name. The environment is read when a name is asked for, not before. */
export class OllamaModelProvider implements ModelProvider {
  readonly #provider: ConfiguredOllamaModelProvider;

  constructor(options: OllamaModelOptions = {}) {
    this.#provider = new ConfiguredOllamaModelProvider(() => ({ ...environment(), ...options }));
  }

  /** Throws `model_unknown` for a name that no host can be decided on for, and `config_invalid` for a wrong address. */
  getModel(modelName?: string): Promise<OllamaModel> {
    return this.#provider.getModel(modelName);
  }
}

/** Routes a model name by what stands before its first `/`; a name without one goes to OpenAI. */
export class MultiModelProvider implements ModelProvider {
  readonly #options: MultiModelProviderOptions;
  #provider: ConfiguredMultiModelProvider | undefined;

  constructor(options: MultiModelProviderOptions = {}) {
    this.#options = options;
  }

  /** Throws `model_unknown` for a prefix that nobody serves and for a missing key. */
  getModel(modelName?: string): Promise<Model> {
    this.#provider ??= new ConfiguredMultiModelProvider({ ...environment(), ...this.#options });
    return this.#provider.getModel(modelName);
  }
}
