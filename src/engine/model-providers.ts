import type { Model, ModelProvider } from '@openai/agents';
import { environmentVariable, readSettings } from '../config.js';
import type { FieldError } from '../core/errors.js';
import {
  MultiModelProvider as ConfiguredMultiModelProvider,
  type MultiModelProviderOptions,
} from '../models/multi-model-provider.js';
import type { OllamaModel, OllamaModelOptions } from '../models/ollama-model.js';
import { OllamaModelProvider as ConfiguredOllamaModelProvider } from '../models/ollama-model-provider.js';
import type { OpenAICompatibleOptions } from '../models/openai-compatible-options.js';
import { OpenAICompatibleProvider } from '../models/openai-compatible-provider.js';

/** The providers of the public library: what their options do not say, OLLAMA_HOST and OLLAMA_API_KEY of the environment do. */

function environment(): { readonly ollamaHost: string | null; readonly ollamaApiKey: string | null } {
  const { ollamaHost, ollamaApiKey } = readSettings();
  return { ollamaHost, ollamaApiKey };
}

function cassettes(): { readonly cassettesDir: string; readonly recordTo: string | null } {
  const { cassettesDir, recordTo } = readSettings();
  return { cassettesDir, recordTo };
}

/** Gives models of Ollama by name. The environment is read when a name is asked for, not before. */
export class OllamaModelProvider implements ModelProvider {
  readonly #provider: ConfiguredOllamaModelProvider;

  constructor(options: OllamaModelOptions = {}) {
    this.#provider = new ConfiguredOllamaModelProvider(options, environment);
  }

  /** What is wrong with the options, for whoever checks a configuration at start. */
  problems(): readonly FieldError[] {
    return this.#provider.problems();
  }

  /** A key that is not there, for whoever starts to execute runs. */
  missing(): readonly FieldError[] {
    return this.#provider.missing();
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
    const options = { ...environment(), ...cassettes(), ...this.#options };
    this.#provider ??= new ConfiguredMultiModelProvider(options, environmentVariable);
    return this.#provider.getModel(modelName);
  }
}

/**
 * Models of any API that speaks as OpenAI's does, for `providers` of a configuration. Nothing is read or contacted here; what is wrong
 * with the options is said when an engine starts, or by the first `getModel`.
 */
export const openaiCompatible = (options: OpenAICompatibleOptions): ModelProvider =>
  new OpenAICompatibleProvider(options, environmentVariable);
