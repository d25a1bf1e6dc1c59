import { resolve } from 'node:path';
import { getDefaultOpenAIClient, type Model, type ModelProvider, OpenAIProvider } from '@openai/agents';
import { HoldfastError } from '../../core/errors/errors.js';
import { MODEL_PROVIDERS, NATIVE_PROVIDERS } from '../../core/models/model-provider-table.js';
import { ReplayModelProvider } from '../cassettes/replay-model-provider.js';
import { NativeProvider } from '../native/native-provider.js';
import { OllamaModelProvider } from '../ollama/ollama-model-provider.js';
import { OpenAICompatibleProvider, type Variable } from '../openai/openai-compatible-provider.js';
import type { Secret } from '../secrets/secret.js';
import { type EmbeddingProvider, type EmbeddingRequest, makesEmbeddings } from './embedding-provider.js';
import type { AttemptTarget } from './model-attempt.js';

export interface MultiModelProviderOptions {
  /** Consulted first, also for known prefixes such as `openai` and `ollama`. */
  readonly provider_map?: MultiModelProviderMap;
  /** Without one, OPENAI_API_KEY, if `openaiBaseUrl` does not lead elsewhere than OPENAI_BASE_URL. */
  readonly openaiApiKey?: string | Secret | null;
  readonly openaiBaseUrl?: string | null;
  /** OLLAMA_API_KEY: sent to Ollama's cloud only. */
  readonly ollamaApiKey?: string | null;
  /** OLLAMA_HOST. Without one: the cloud if there is a key, or the local server. */
  readonly ollamaHost?: string | null;
  /** Where the cassettes of `replay/<name>` are. Default: `cassettes` in the working directory. */
  readonly cassettesDir?: string;
  /** A directory, to which the traffic of all known providers is recorded (docs/models/cassettes.md); null: none. */
  readonly recordTo?: string | null;
}

/**
 * Routes a model name by what stands before its first `/`; a name without one goes to OpenAI. Known providers (docs/models/README.md) take
 * their keys from `variable`. Nothing is created before the first name that needs it. Throws `model_unknown` for a prefix that
 * no one serves and for a missing key.
 */
export class MultiModelProvider implements ModelProvider, EmbeddingProvider {
  readonly #options: MultiModelProviderOptions;
  readonly #variable: Variable;
  readonly #created = new Map<string, ModelProvider>();

  constructor(options: MultiModelProviderOptions = {}, variable: Variable = () => null) {
    this.#options = options;
    this.#variable = variable;
  }

  async getModel(modelName?: string): Promise<Model> {
    const { provider, name } = this.#served(modelName);
    return await provider.getModel(name);
  }

  /** Throws `model_unknown`, also for a provider that makes no vectors, and what a failed request throws. */
  async embed(request: EmbeddingRequest): Promise<readonly (readonly number[])[]> {
    const { provider, name } = this.#embedding(request.model);
    return provider.embed({ ...request, model: name });
  }

  /** Looks whether there is a provider with a key that makes vectors; contacts no one. Throws `model_unknown` and `config_invalid`. */
  assertEmbeds(model: string): void {
    const { provider, name } = this.#embedding(model);
    provider.assertEmbeds?.(name);
  }

  #embedding(model: string): { readonly provider: EmbeddingProvider; readonly name: string } {
    const { provider, name } = this.#served(model);
    if (makesEmbeddings(provider)) return { provider, name };
    throw new HoldfastError('model_unknown', `The model "${model}" is of a provider that makes no embeddings.`, {
      hint: 'Use a model of an API with /v1/embeddings, such as openai/text-embedding-3-small, or ollama/nomic-embed-text.',
    });
  }

  #served(modelName?: string): { readonly provider: ModelProvider; readonly name: string } {
    const { prefix, name } = parseModelName(modelName);
    const provider = this.#providerOf(prefix ?? 'openai');
    if (provider === undefined) throw this.#unknown(modelName ?? '', `no provider has the prefix "${prefix}"`);
    if (prefix !== null && name === '') throw this.#unknown(modelName ?? '', `no name follows "${prefix}/"`);
    return { provider, name };
  }

  #providerOf(prefix: string): ModelProvider | undefined {
    const known = this.#options.provider_map?.getProvider(prefix) ?? this.#created.get(prefix);
    if (known !== undefined) return known;
    const created = this.#create(prefix);
    if (created !== undefined) this.#created.set(prefix, created);
    return created;
  }

  #create(prefix: string): ModelProvider | undefined {
    if (prefix === 'ollama') return this.#ollama();
    if (prefix === 'openai') return this.#openai();
    if (prefix === 'replay') return new ReplayModelProvider(this.#options.cassettesDir ?? resolve('cassettes'));
    if (prefix === 'anthropic-native' || prefix === 'google-native')
      return new NativeProvider({ like: prefix, ...this.#recording() }, this.#variable);
    return Object.hasOwn(MODEL_PROVIDERS, prefix)
      ? new OpenAICompatibleProvider({ like: prefix, ...this.#recording() }, this.#variable)
      : undefined;
  }

  #openai(): ModelProvider {
    const { openaiApiKey = null, openaiBaseUrl = null } = this.#options;
    // A program that gave the SDK a client of its own means that one.
    if (openaiApiKey === null && openaiBaseUrl === null && getDefaultOpenAIClient() !== undefined) {
      return new OpenAIProvider();
    }
    const options = {
      like: 'openai',
      ...(openaiApiKey === null ? {} : { key: openaiApiKey }),
      ...(openaiBaseUrl === null ? {} : { baseURL: openaiBaseUrl }),
      ...this.#recording(),
    };
    return new OpenAICompatibleProvider(options, this.#variable);
  }

  #ollama(): ModelProvider {
    const { ollamaApiKey = null, ollamaHost = null } = this.#options;
    return new OllamaModelProvider({ ollamaApiKey, ollamaHost, ...this.#recording() });
  }

  #recording(): { readonly recordTo?: string } {
    const { recordTo = null } = this.#options;
    return recordTo === null ? {} : { recordTo };
  }

  #unknown(modelName: string, why: string): HoldfastError {
    const custom = this.#options.provider_map?.getMapping().keys() ?? [];
    const known = [
      ...new Set(['ollama', 'replay', ...Object.keys(MODEL_PROVIDERS), ...Object.keys(NATIVE_PROVIDERS), ...custom]),
    ]
      .sort()
      .map((prefix) => `${prefix}/`);
    return new HoldfastError(
      'model_unknown',
      `The model "${modelName}" has no provider: ${why}. Known prefixes are ${known.join(', ')}; a name without a prefix goes to OpenAI.`,
    );
  }
}

/** Only the first `/` separates: `ollama/hf.co/org/model` is `hf.co/org/model` of `ollama`. */
export function parseModelName(modelName: string | undefined): {
  readonly prefix: string | null;
  readonly name: string;
} {
  const whole = modelName ?? '';
  const slash = whole.indexOf('/');
  return slash === -1 ? { prefix: null, name: whole } : { prefix: whole.slice(0, slash), name: whole.slice(slash + 1) };
}

/** Who is asked for a name: one without a prefix is OpenAI's. */
export function targetOf(modelName: string | undefined): AttemptTarget {
  const { prefix, name } = parseModelName(modelName);
  return { provider: prefix ?? 'openai', model: name };
}

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
