import {
  getDefaultModel,
  type Model,
  type ModelProvider,
  OpenAIChatCompletionsModel,
  OpenAIProvider,
} from '@openai/agents';
import { z } from 'zod';
import { type FieldError, HoldfastError } from '../../core/errors/errors.js';
import { invalidConfig, pointerTo } from '../../core/field-errors.js';
import { MODEL_PROVIDERS, type ModelProviderRow } from '../../core/models/model-provider-table.js';
import { tokenCount } from '../budgets/usage-tokens.js';
import { openaiRecording } from '../cassettes/openai-recording.js';
import { ChatModel } from '../dialects/chat-model.js';
import type { Dialect } from '../dialects/dialect.js';
import { dialectOf } from '../dialects/dialect-of.js';
import { abortError } from '../providers/abort.js';
import {
  type EmbeddingProvider,
  type EmbeddingRequest,
  firstProblem,
  wrongEmbeddings,
} from '../providers/embedding-provider.js';
import { fileSecret, missingAt, type Secret, variableSecret } from '../secrets/secret.js';
import { type Endpoint, endpointOf } from './endpoint.js';
import { endpointFailure } from './endpoint-calls.js';
import { EndpointClient } from './openai-client.js';
import { isWebAddress, type OpenAICompatibleOptions, problemsOf, WEB } from './openai-compatible-options.js';
import { ResponsesModel } from './responses-model.js';

/** A model at an endpoint. Recordings of older builds name no dialect, and are played by the SDK's own model. */
function endpointModel(api: 'responses' | 'chat', client: EndpointClient, endpoint: Endpoint, name: string): Model {
  if (api === 'responses') return new ResponsesModel(client, endpoint, name);
  const { dialect } = endpoint;
  return dialect === null
    ? new OpenAIChatCompletionsModel(client, name, { strictFeatureValidation: true })
    : new ChatModel(client, endpoint, dialect, name);
}

/** A variable of the environment; null where it is not set or empty. */
export type Variable = (name: string) => string | null;

/**
 * Gives models of an API that speaks as OpenAI's does. Nothing is created before the first name, and nothing is read or contacted before
 * the first request.
 */
export class OpenAICompatibleProvider implements ModelProvider, EmbeddingProvider {
  readonly #options: OpenAICompatibleOptions;
  readonly #variable: Variable;
  readonly #send: typeof fetch | null;
  readonly #recorded: { readonly dialect: Dialect | null } | null;
  readonly #models = new Map<string, Model>();
  #endpoint: Endpoint | undefined;
  #client: EndpointClient | undefined;

  /** `send`: how requests leave; null: by the `fetch` of the process. `recorded`: the dialect of a recording. */
  constructor(
    options: OpenAICompatibleOptions,
    variable: Variable,
    send: typeof fetch | null = null,
    recorded: { readonly dialect: Dialect | null } | null = null,
  ) {
    this.#options = options;
    this.#variable = variable;
    this.#send = send;
    this.#recorded = recorded;
  }

  /** What is wrong with the options, for the caller that checks a configuration at start. */
  problems(): readonly FieldError[] {
    return problemsOf(this.#options);
  }

  /** Keys that are not there, for the caller that starts to execute runs. */
  missing(): readonly FieldError[] {
    const { key, headers = {} } = this.#options;
    const places = [
      ['/key', key] as const,
      ...Object.entries(headers).map(([name, value]) => [pointerTo(['headers', name]), value] as const),
    ];
    return places.flatMap(([pointer, value]) => missingAt(pointer, value));
  }

  /** Where its secrets are, so that they are known before they are used. */
  secrets(): object {
    const { key, headers, baseURL } = this.#options;
    return { apiKey: key, headers, baseURL };
  }

  /** Throws `config_invalid` for wrong options and addresses of the environment, and `model_unknown` for a missing name and a missing key. */
  async getModel(modelName = ''): Promise<Model> {
    this.#assertOptions();
    const isOpenai = this.#options.like === 'openai';
    const name = modelName === '' && isOpenai ? getDefaultModel() : modelName;
    const known = this.#models.get(name);
    if (known !== undefined) return known;
    if (name === '')
      throw new HoldfastError('model_unknown', 'The name of the model is blank.', { hint: 'Use <prefix>/<name>.' });
    this.#endpoint ??= this.#endpointFor(name);
    this.#client ??= new EndpointClient(this.#endpoint, isOpenai);
    const { api = isOpenai ? await apiOfSdk(this.#client) : this.#endpoint.api } = this.#options;
    const model = endpointModel(api, this.#client, this.#endpoint, name);
    this.#models.set(name, model);
    return model;
  }

  /** Throws as `getModel` does, and what a failed request throws. What is asked is on no cassette. */
  async embed(request: EmbeddingRequest): Promise<readonly (readonly number[])[]> {
    const endpoint = { ...this.assertEmbeds(request.model), send: this.#send };
    return openaiEmbeddings(new EndpointClient(endpoint, this.#options.like === 'openai'), endpoint, request);
  }

  /** Says where vectors are asked for. Throws `config_invalid` for wrong options, and `model_unknown` for a missing key. */
  assertEmbeds(model: string): Endpoint {
    this.#assertOptions();
    this.#endpoint ??= this.#endpointFor(model);
    return this.#endpoint;
  }

  #assertOptions(): void {
    const fields = this.problems();
    if (fields.length === 0) return;
    throw invalidConfig('The provider', fields);
  }

  #endpointFor(model: string): Endpoint {
    const { like, baseURL, key, api, headers, quirks, timeoutMs, recordTo } = this.#options;
    const row = like === undefined ? undefined : MODEL_PROVIDERS[like];
    const ownUrl = row?.urlVariable == null ? null : this.#variable(row.urlVariable);
    // A server has checked its settings at its start; a program that makes a provider by itself has not.
    if (baseURL === undefined && ownUrl !== null && !isWebAddress(ownUrl))
      throw new HoldfastError('config_invalid', `${row?.urlVariable} has a value that is not shown here; ${WEB}.`);
    const ownAddress = ownUrl ?? row?.baseURL ?? '';
    const address = baseURL ?? ownAddress;
    // The key of the environment is for the address that the environment, or the table, says.
    const keyOfRow = row !== undefined && address === ownAddress ? this.#keyOf(row, model) : null;
    const allQuirks = { ...row?.quirks, ...quirks };
    const dialect = this.#recorded === null ? dialectOf(like, address) : this.#recorded.dialect;
    return endpointOf({
      ...(row === undefined ? {} : { title: row.title }),
      baseURL: address,
      api: api ?? row?.api ?? 'chat',
      key: key === undefined ? keyOfRow : key,
      quirks: allQuirks,
      dialect,
      send:
        recordTo === undefined
          ? this.#send
          : openaiRecording(recordTo, { address, quirks: allQuirks, dialect }, this.#send),
      ...(headers === undefined ? {} : { headers }),
      ...(timeoutMs === undefined ? {} : { timeoutMs }),
    });
  }

  #keyOf({ title, keyVariable, needsKey }: ModelProviderRow, model: string): Secret | null {
    if (this.#options.key !== undefined) return null;
    const file = this.#variable(`${keyVariable}_FILE`);
    if (file !== null) return fileSecret(file);
    if (this.#variable(keyVariable) !== null) return variableSecret(keyVariable, this.#variable);
    if (!needsKey) return null;
    throw new HoldfastError(
      'model_unknown',
      `The model "${model}" is one of ${title}, and there is no key: ${keyVariable} is not set.`,
      {
        hint: `Set ${keyVariable}, or use a model of another provider, such as ollama/<name>.`,
      },
    );
  }
}

/** Which API a program has chosen by `setOpenAIAPI` of the SDK, which says it to its own provider alone. */
async function apiOfSdk(openAIClient: EndpointClient): Promise<'responses' | 'chat'> {
  const model = await new OpenAIProvider({ openAIClient }).getModel('any');
  return model instanceof OpenAIChatCompletionsModel ? 'chat' : 'responses';
}

const answer = z.looseObject({
  data: z.array(z.looseObject({ index: z.int().min(0), embedding: z.array(z.number()) })),
  usage: z.looseObject({ prompt_tokens: z.unknown() }).nullish().catch(null),
});

/** Asks `POST /embeddings` of an endpoint once. Throws as its models do. */
async function openaiEmbeddings(
  client: EndpointClient,
  endpoint: Endpoint,
  { model, texts, signal, used }: EmbeddingRequest,
): Promise<readonly (readonly number[])[]> {
  try {
    const body = { model, input: [...texts], encoding_format: 'float' as const };
    const made: unknown = await client.embeddings.create(body, signal === undefined ? {} : { signal });
    return vectorsIn(made, model, texts.length, used);
  } catch (error) {
    throw signal?.aborted === true ? abortError(signal) : endpointFailure(error, endpoint, model, false);
  }
}

function vectorsIn(
  made: unknown,
  model: string,
  count: number,
  used: EmbeddingRequest['used'],
): readonly (readonly number[])[] {
  const parsed = answer.safeParse(made);
  if (!parsed.success) throw wrongEmbeddings(model, firstProblem(parsed.error));
  const tokens = tokenCount(parsed.data.usage?.prompt_tokens);
  if (tokens !== null) used?.(tokens);
  const byIndex = new Map(parsed.data.data.map(({ index, embedding }) => [index, embedding]));
  return Array.from({ length: count }, (_, index) => {
    const vector = byIndex.get(index);
    if (vector === undefined) throw wrongEmbeddings(model, `number ${index} of ${count} is missing`);
    return vector;
  });
}
