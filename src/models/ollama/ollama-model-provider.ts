import type { ModelProvider } from '@openai/agents';
import type { FieldError } from '../../core/errors/errors.js';
import { DEFAULT_TIMEOUT_MS } from '../openai/endpoint.js';
import type { EmbeddingProvider, EmbeddingRequest } from '../providers/embedding-provider.js';
import { isSecret, missingAt } from '../secrets/secret.js';
import { ollamaEmbeddings } from './ollama-client.js';
import { type OllamaTarget, ollamaTarget } from './ollama-host.js';
import { OllamaModel, type OllamaModelOptions } from './ollama-model.js';
import { assertOllamaOptions, ollamaProblems } from './ollama-options.js';

/**
 * Gives models of Ollama by name. Nothing is created before the first name and nothing is contacted before the first call;
 * where a model is served is decided for each name on its own.
 */
export class OllamaModelProvider implements ModelProvider, EmbeddingProvider {
  readonly #options: OllamaModelOptions;
  readonly #environment: () => OllamaModelOptions;
  readonly #models = new Map<string, OllamaModel>();

  /** What the options leave out, `environment` says; it is asked with each new name. */
  constructor(options: OllamaModelOptions = {}, environment: () => OllamaModelOptions = () => ({})) {
    this.#options = options;
    this.#environment = environment;
  }

  /** What is wrong with the options, for the caller that checks a configuration at start. */
  problems(): readonly FieldError[] {
    const { apiKey } = this.#options;
    const problem = isSecret(apiKey) ? apiKey.problem : null;
    return [...ollamaProblems(this.#options), ...(problem ? [{ pointer: '/apiKey', detail: problem }] : [])];
  }

  /** A key that is not there, for the caller that starts to execute runs. */
  missing(): readonly FieldError[] {
    return missingAt('/apiKey', this.#options.apiKey);
  }

  /** Where its secrets are, so that they are known before they are used. */
  secrets(): object {
    const { apiKey, baseURL, ollamaApiKey, ollamaHost } = this.#options;
    return { apiKey, baseURL, ollamaApiKey, ollamaHost };
  }

  /** Throws `config_invalid` for wrong options; `model_unknown` for a blank name, for one that contradicts its host and for a cloud model without a key. */
  async getModel(modelName = ''): Promise<OllamaModel> {
    const known = this.#models.get(modelName);
    if (known !== undefined) return known;
    const model = new OllamaModel(modelName, { ...this.#environment(), ...this.#options });
    this.#models.set(modelName, model);
    return model;
  }

  /** Throws as `getModel` does, and what a failed request throws. What is asked is on no cassette. */
  async embed(request: EmbeddingRequest): Promise<readonly (readonly number[])[]> {
    const { timeoutMs = DEFAULT_TIMEOUT_MS, fetch: send = null } = this.#options;
    return ollamaEmbeddings(this.assertEmbeds(request.model), request, { timeoutMs, send });
  }

  /** Says where vectors are asked for. Throws as `getModel` does. */
  assertEmbeds(model: string): OllamaTarget {
    const options = { ...this.#environment(), ...this.#options };
    assertOllamaOptions(options);
    return ollamaTarget(model, options);
  }
}
