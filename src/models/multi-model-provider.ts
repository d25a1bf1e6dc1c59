import { type Model, type ModelProvider, OpenAIProvider } from '@openai/agents';
import { HoldfastError } from '../core/errors.js';
import type { AttemptTarget } from './model-attempt.js';
import type { MultiModelProviderMap } from './multi-model-provider-map.js';
import { OllamaModelProvider } from './ollama-model-provider.js';

export interface MultiModelProviderOptions {
  /** Consulted first, also for `openai` and `ollama`. */
  readonly provider_map?: MultiModelProviderMap;
  /** Without one, the Agents SDK looks for its own default key. */
  readonly openaiApiKey?: string | null;
  readonly openaiBaseUrl?: string | null;
  /** OLLAMA_API_KEY: sent to Ollama's cloud only. */
  readonly ollamaApiKey?: string | null;
  /** OLLAMA_HOST. Without one: the cloud if there is a key, or the local server. */
  readonly ollamaHost?: string | null;
}

/**
 * Routes a model name by what stands before its first `/`; a name without one goes to OpenAI. Nothing is created before
 * the first name that needs it. Throws `model_unknown` for a prefix that nobody serves and for a missing key.
 */
export class MultiModelProvider implements ModelProvider {
  readonly #options: MultiModelProviderOptions;
  readonly #defaults: ReadonlyMap<string, () => ModelProvider>;
  readonly #created = new Map<string, ModelProvider>();

  constructor(options: MultiModelProviderOptions = {}) {
    this.#options = options;
    this.#defaults = new Map([
      ['openai', () => this.#openai()],
      ['ollama', () => this.#ollama()],
    ]);
  }

  async getModel(modelName?: string): Promise<Model> {
    const { prefix, name } = parseModelName(modelName);
    const provider = this.#providerOf(prefix ?? 'openai');
    if (provider === undefined) throw this.#unknown(modelName ?? '', `no provider has the prefix "${prefix}"`);
    if (prefix !== null && name === '') throw this.#unknown(modelName ?? '', `no name follows "${prefix}/"`);
    if (provider !== this.#created.get('openai')) return await provider.getModel(name);
    return await openaiModel(provider, name);
  }

  #providerOf(prefix: string): ModelProvider | undefined {
    const known = this.#options.provider_map?.getProvider(prefix) ?? this.#created.get(prefix);
    if (known !== undefined) return known;
    const created = this.#defaults.get(prefix)?.();
    if (created !== undefined) this.#created.set(prefix, created);
    return created;
  }

  #openai(): ModelProvider {
    const { openaiApiKey, openaiBaseUrl } = this.#options;
    return new OpenAIProvider({
      ...(typeof openaiApiKey === 'string' ? { apiKey: openaiApiKey } : {}),
      ...(typeof openaiBaseUrl === 'string' ? { baseURL: openaiBaseUrl } : {}),
    });
  }

  #ollama(): ModelProvider {
    const { ollamaApiKey = null, ollamaHost = null } = this.#options;
    return new OllamaModelProvider({ ollamaApiKey, ollamaHost });
  }

  #unknown(modelName: string, why: string): HoldfastError {
    const custom = this.#options.provider_map?.getMapping().keys() ?? [];
    const known = [...new Set([...this.#defaults.keys(), ...custom])].sort().map((prefix) => `${prefix}/`);
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

async function openaiModel(provider: ModelProvider, name: string): Promise<Model> {
  try {
    return await provider.getModel(name);
  } catch (cause) {
    if (!/credentials|api_?key/i.test(String(cause))) throw cause;
    throw new HoldfastError('model_unknown', `The model "${name}" is one of OpenAI's, and there is no key for it.`, {
      cause,
      hint: 'Set OPENAI_API_KEY, or use a model of another provider, such as ollama/<name>.',
    });
  }
}
