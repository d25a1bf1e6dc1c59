import type { Model, ModelProvider } from '@openai/agents';
import { z } from 'zod';
import { type FieldError, HoldfastError } from '../../core/errors/errors.js';
import { invalidConfig, pointerTo } from '../../core/field-errors.js';
import { NATIVE_PROVIDERS, type NativeProviderRow } from '../../core/models/model-provider-table.js';
import { badCassette, type Cassette } from '../cassettes/cassette.js';
import { recordingFetch } from '../cassettes/cassette-recorder.js';
import { credentialOf, type Destination, endpointOf } from '../openai/endpoint.js';
import { endpointFetch } from '../openai/endpoint-fetch.js';
import type { Variable } from '../openai/openai-compatible-provider.js';
import { fileSecret, missingAt, type Secret, variableSecret } from '../secrets/secret.js';
import { UNNAMED } from './native-answer.js';
import { NativeModel } from './native-model.js';
import { type NativeApiOptions, nativeProblems } from './native-options.js';
import { nativePackages } from './native-packages.js';

/** What shapes the requests to an API of its own. */
const shaping = z.strictObject({ cache: z.boolean() });

function nativeRecording(
  directory: string,
  api: 'anthropic' | 'google',
  cache: boolean,
  send: typeof fetch | null,
): typeof fetch {
  return recordingFetch({ directory, settings: api === 'anthropic' ? { cache } : {} }, send ?? fetch);
}

/** Returns how the recorded model was asked, or null for a cassette of another API. Throws `cassette_invalid`. */
export function nativeRecorded({ name, head }: Cassette): NativeApiOptions | null {
  if (head.api === 'google') return { like: 'google-native', key: null };
  if (head.api !== 'anthropic') return null;
  const { data } = shaping.safeParse(head.settings);
  if (data === undefined) throw badCassette(`The settings of the cassette "${name}" are none of Anthropic's API.`);
  return { like: 'anthropic-native', key: null, cache: data.cache };
}

/**
 * Gives models of Anthropic's and Google's own APIs. Packages are loaded, and keys are looked for, with the first name. Nothing is
 * contacted before the first request.
 */
export class NativeProvider implements ModelProvider {
  readonly #options: NativeApiOptions;
  readonly #variable: Variable;
  readonly #send: typeof fetch | null;
  readonly #models = new Map<string, Model>();

  /** `send`: how requests leave; null = by the `fetch` of the process. */
  constructor(options: NativeApiOptions, variable: Variable, send: typeof fetch | null = null) {
    this.#options = options;
    this.#variable = variable;
    this.#send = send;
  }

  /** Returns what is wrong with the options, for the check of a configuration at start. */
  problems(): readonly FieldError[] {
    return nativeProblems(this.#options);
  }

  /** Returns the keys that are not there, for a process that executes runs. */
  missing(): readonly FieldError[] {
    const { key, headers = {} } = this.#options;
    const others = Object.entries(headers).flatMap(([name, value]) => missingAt(pointerTo(['headers', name]), value));
    return [...missingAt('/key', key), ...others];
  }

  /** Returns the places of its secrets, so that they are known before they are used. */
  secrets(): object {
    const { key, headers, baseURL } = this.#options;
    return { apiKey: key, headers, baseURL };
  }

  /** Throws `config_invalid` for wrong options, and `model_unknown` for a missing name, key or package. */
  async getModel(modelName = ''): Promise<Model> {
    const row = this.#row();
    const known = this.#models.get(modelName);
    if (known !== undefined) return known;
    if (modelName === '')
      throw new HoldfastError('model_unknown', 'The name of the model is blank.', { hint: 'Use <prefix>/<name>.' });
    const destination = this.#destination(row, modelName);
    const { adapt, open } = await nativePackages(row);
    let unnamed = 0;
    const language = open({
      baseURL: destination.baseURL,
      fetch: endpointFetch(destination),
      generateId: () => `${UNNAMED}${unnamed++}`,
    })(modelName);
    const { cache = true } = this.#options;
    const model = new NativeModel({ name: modelName, api: row.api, language, adapt, destination, cache });
    this.#models.set(modelName, model);
    return model;
  }

  #row(): NativeProviderRow {
    const fields = this.problems();
    const row = NATIVE_PROVIDERS[this.#options.like];
    if (fields.length === 0 && row !== undefined) return row;
    throw invalidConfig('The provider', fields);
  }

  #destination(row: NativeProviderRow, model: string): Destination {
    const { baseURL = row.baseURL, key, headers, timeoutMs, recordTo, cache = true } = this.#options;
    const used = key === undefined ? this.#keyOf(row, model) : key;
    const { credentials, ...rest } = endpointOf({
      ...{ title: row.title, baseURL, api: 'chat', key: null, dialect: null },
      send: recordTo === undefined ? this.#send : nativeRecording(recordTo, row.api, cache, this.#send),
      ...(headers === undefined ? {} : { headers }),
      ...(timeoutMs === undefined ? {} : { timeoutMs }),
    });
    return {
      ...rest,
      credentials: [...(used === null ? [] : [credentialOf(row.keyHeader, '', used)]), ...credentials],
    };
  }

  #keyOf({ title, keyVariable }: NativeProviderRow, model: string): Secret {
    const file = this.#variable(`${keyVariable}_FILE`);
    if (file !== null) return fileSecret(file);
    if (this.#variable(keyVariable) !== null) return variableSecret(keyVariable, this.#variable);
    throw new HoldfastError(
      'model_unknown',
      `The model "${model}" is one of ${title}, and there is no key: ${keyVariable} is not set.`,
      { hint: `Set ${keyVariable}, or use a model of another provider, such as ollama/<name>.` },
    );
  }
}
