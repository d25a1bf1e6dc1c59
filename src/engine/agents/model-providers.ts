import type { Model, ModelProvider } from '@openai/agents';
import { cassettesDir, environmentVariable, ollamaApiKey, ollamaHost, recordTo } from '../../config.js';
import type { FieldError } from '../../core/errors/errors.js';
import { pointerTo } from '../../core/field-errors.js';
import type { WorkerRole } from '../../core/queue/worker.js';
import type { Setting } from '../../core/setting.js';
import type { NativeApiOptions } from '../../models/native/native-options.js';
import { NativeProvider } from '../../models/native/native-provider.js';
import type { OllamaModel, OllamaModelOptions } from '../../models/ollama/ollama-model.js';
import { OllamaModelProvider as ConfiguredOllamaModelProvider } from '../../models/ollama/ollama-model-provider.js';
import type { OpenAICompatibleOptions } from '../../models/openai/openai-compatible-options.js';
import { OpenAICompatibleProvider } from '../../models/openai/openai-compatible-provider.js';
import type { EmbeddingProvider, EmbeddingRequest } from '../../models/providers/embedding-provider.js';
import {
  MultiModelProvider as ConfiguredMultiModelProvider,
  type MultiModelProviderOptions,
} from '../../models/providers/multi-model-provider.js';
import { readSetting } from '../secrets/setting-secrets.js';
import type { HoldfastConfig } from './define.js';

/** The providers of the public library: what their options do not say, OLLAMA_HOST and OLLAMA_API_KEY of the environment do. */

/** What the environment says is read once by each provider, when the first name needs it; nothing else of it is looked at. */
function lazily<T>(setting: Setting<T>): () => T {
  let read: { readonly value: T } | undefined;
  return () => {
    read ??= { value: readSetting(setting) };
    return read.value;
  };
}

function ollamaEnvironment(): () => OllamaModelOptions {
  const [host, key] = [lazily(ollamaHost), lazily(ollamaApiKey)];
  return () => ({ ollamaHost: host(), ollamaApiKey: key() });
}

/** Returns the options; a program without types may give none, which the check of the configuration names. */
const given = <T extends object>(options: T): T => (options as T | null | undefined) ?? ({} as T);

/** The options, and behind what they leave out, the environment. */
function withEnvironment(options: MultiModelProviderOptions): MultiModelProviderOptions {
  const host = lazily(ollamaHost);
  const key = lazily(ollamaApiKey);
  const cassettes = lazily(cassettesDir);
  const record = lazily(recordTo);
  return {
    ...options,
    get ollamaHost() {
      return options.ollamaHost === undefined ? host() : options.ollamaHost;
    },
    get ollamaApiKey() {
      return options.ollamaApiKey === undefined ? key() : options.ollamaApiKey;
    },
    get cassettesDir() {
      return options.cassettesDir ?? cassettes();
    },
    get recordTo() {
      return options.recordTo === undefined ? record() : options.recordTo;
    },
  };
}

/** Gives models of Ollama by name. The environment is read once, when the first name is asked for. */
export class OllamaModelProvider implements ModelProvider, EmbeddingProvider {
  readonly #provider: ConfiguredOllamaModelProvider;

  constructor(options: OllamaModelOptions = {}) {
    this.#provider = new ConfiguredOllamaModelProvider(given(options), ollamaEnvironment());
  }

  /** What is wrong with the options, for the caller that checks a configuration at start. */
  problems(): readonly FieldError[] {
    return this.#provider.problems();
  }

  /** A key that is not there, for the caller that starts to execute runs. */
  missing(): readonly FieldError[] {
    return this.#provider.missing();
  }

  /** Where its secrets are, so that they are known before they are used. */
  secrets(): object {
    return this.#provider.secrets();
  }

  /** Throws `model_unknown` for a name that no host can be decided on for, and `config_invalid` for a wrong address. */
  getModel(modelName?: string): Promise<OllamaModel> {
    return this.#provider.getModel(modelName);
  }

  embed(request: EmbeddingRequest): Promise<readonly (readonly number[])[]> {
    return this.#provider.embed(request);
  }

  assertEmbeds(model: string): void {
    this.#provider.assertEmbeds(model);
  }
}

/** Routes a model name by what stands before its first `/`; a name without one goes to OpenAI. */
export class MultiModelProvider implements ModelProvider, EmbeddingProvider {
  readonly #options: MultiModelProviderOptions;
  readonly #provider: ConfiguredMultiModelProvider;

  constructor(options: MultiModelProviderOptions = {}) {
    this.#options = options;
    this.#provider = new ConfiguredMultiModelProvider(withEnvironment(options), environmentVariable);
  }

  /** Where its secrets are, so that they are known before they are used. */
  secrets(): object {
    const { openaiApiKey, openaiBaseUrl, ollamaApiKey, ollamaHost } = this.#options;
    return { openaiApiKey, openaiBaseUrl, ollamaApiKey, ollamaHost };
  }

  /** Throws `model_unknown` for a prefix that no one serves and for a missing key. */
  getModel(modelName?: string): Promise<Model> {
    return this.#provider.getModel(modelName);
  }

  embed(request: EmbeddingRequest): Promise<readonly (readonly number[])[]> {
    return this.#provider.embed(request);
  }

  assertEmbeds(model: string): void {
    this.#provider.assertEmbeds(model);
  }
}

/**
 * Models of any API that speaks as OpenAI's does, for `providers` of a configuration. Nothing is read or contacted here; what is wrong
 * with the options is said when an engine starts, or by the first `getModel`.
 */
export const openaiCompatible = (options: OpenAICompatibleOptions): ModelProvider =>
  new OpenAICompatibleProvider(given(options), environmentVariable);

/**
 * Models of Anthropic's or Google's own API, for `providers` of a configuration. Nothing is read or contacted here. The engine says
 * at its start, or the first `getModel` says, what is wrong with the options.
 */
export const nativeApi = (options: NativeApiOptions): ModelProvider =>
  new NativeProvider(given(options), environmentVariable);

/**
 * What is wrong with the providers of a configuration, before anything is made. A provider that knows what is wrong with itself says
 * it by a method `problems`, and which keys are not there by `missing`; who executes no runs needs none.
 */
export function providerProblems(
  providers: HoldfastConfig['providers'] = {},
  role: WorkerRole = 'all',
): readonly FieldError[] {
  return Object.entries(providers).flatMap(([prefix, provider]) => {
    const place = pointerTo(['providers', prefix]);
    const problems: FieldError[] = [];
    if (!/^[^\s/]+$/.test(prefix)) {
      problems.push({ pointer: place, detail: 'expected a prefix that is not empty and has no slash and no space' });
    }
    if (typeof provider?.getModel !== 'function') {
      problems.push({ pointer: place, detail: 'expected a ModelProvider, which has getModel()' });
    }
    const said = [...saidBy(provider, 'problems'), ...(role === 'api' ? [] : saidBy(provider, 'missing'))];
    problems.push(...said.map(({ pointer, detail }) => ({ pointer: `${place}${pointer}`, detail })));
    return problems;
  });
}

function saidBy(provider: unknown, method: 'problems' | 'missing'): readonly FieldError[] {
  return isJudge(provider, method) ? provider[method]() : [];
}

const isJudge = <M extends string>(provider: unknown, method: M): provider is Record<M, () => readonly FieldError[]> =>
  typeof provider === 'object' && provider !== null && typeof Reflect.get(provider, method) === 'function';
