import {
  type Model,
  type ModelRequest,
  type ModelResponse,
  type ModelRetryAdvice,
  type ModelRetryAdviceRequest,
  type protocol,
  type StreamEvent,
  UserError,
} from '@openai/agents';
import { HoldfastError } from '../../core/errors/errors.js';
import { isRecord, jsonOrNull } from '../../core/json.js';
import { messageIn } from '../failures/error-answer.js';
import { causesOf, textOf } from '../failures/failure-causes.js';
import { ModelCallError } from '../failures/model-call-error.js';
import { retryAdviceOf } from '../failures/model-failure.js';
import type { Destination } from '../openai/endpoint.js';
import { endpointFailure } from '../openai/endpoint-calls.js';
import { abortError, throwIfAborted } from '../providers/abort.js';
import { finishReasonOf } from '../providers/answer-terms.js';
import { argumentsEvent, doneEvent, isOutputItem, reasoningEvent } from '../providers/response-events.js';
import { usageOf } from '../providers/streamed-response.js';
import { NativeAnswer } from './native-answer.js';
import type { LanguageModel, NativePackages } from './native-packages.js';
import { nativeRequest, ownItems } from './native-request.js';

interface NativeModelOptions {
  readonly name: string;
  readonly api: 'anthropic' | 'google';
  readonly language: LanguageModel;
  readonly adapt: NativePackages['adapt'];
  readonly destination: Destination;
  readonly cache: boolean;
}

/** A model of Anthropic's or Google's own API. Throws as OllamaModel does, and a UserError for what the API cannot do. */
export class NativeModel implements Model {
  readonly #options: NativeModelOptions;

  constructor(options: NativeModelOptions) {
    this.#options = options;
  }

  async getResponse(request: ModelRequest): Promise<ModelResponse> {
    const { answer, events } = this.#ask(request, false);
    try {
      for await (const event of events) if (event.type === 'response_done') return this.#responseOf(answer, event);
      throw broken();
    } catch (error) {
      throw this.#failure(error, request, false);
    }
  }

  async *getStreamedResponse(request: ModelRequest): AsyncIterable<StreamEvent> {
    const { answer, events } = this.#ask(request, true);
    const calls = new Map<string, string>();
    let started = false;
    try {
      for await (const event of events) {
        throwIfAborted(request.signal);
        if (event.type === 'response_done') {
          const response = this.#responseOf(answer, event);
          yield doneEvent(response, response.output.filter(isOutputItem));
        } else {
          const told = event.type === 'model' ? deltaOf(event.event, calls) : withoutId(event);
          if (told === null) continue;
          yield told;
        }
        started ||= event.type !== 'response_started';
      }
    } catch (error) {
      throw this.#failure(error, request, started);
    }
  }

  getRetryAdvice({ error }: ModelRetryAdviceRequest): ModelRetryAdvice | undefined {
    return retryAdviceOf(error);
  }

  #ask(request: ModelRequest, isStreamed: boolean) {
    const { api, name, language, adapt, cache } = this.#options;
    const answer = new NativeAnswer(language, api, isStreamed);
    return { answer, events: adapt(answer).getStreamedResponse(nativeRequest(api, name, request, cache)) };
  }

  /** The response without what the adapter puts beside it: its own names, and ids that count from zero in every answer. */
  #responseOf(answer: NativeAnswer, { response }: protocol.StreamEventResponseCompleted): ModelResponse {
    const { name, api } = this.#options;
    if (answer.finish === null) throw broken();
    const { unified, raw = unified } = answer.finish;
    const output = ownItems(api, response.output, answer.texts);
    const { id, usage, rawUsage } = response;
    if (unified === 'length' && output.at(-1)?.type === 'function_call')
      throw new ModelCallError('model_failed', `The answer of ${name} may be cut within a call: it ended by ${raw}.`, {
        retryable: false,
        hint: 'Set a higher maxTokens in the model settings of the agent.',
      });
    if (output.length === 0)
      throw new ModelCallError('model_failed', `The answer is empty; the server ended it as ${raw}.`, {
        retryable: unified === 'stop' || unified === 'error' || unified === 'other',
      });
    return {
      usage: usageOf(usage),
      output,
      // The adapter's name for an answer without an id.
      ...(id === 'FAKE_ID' ? {} : { responseId: id }),
      ...(rawUsage === undefined ? {} : { rawUsage }),
      // Gemini ends an answer with calls as it ends one with words.
      providerData: { finishReason: unified === 'tool-calls' && finishReasonOf(raw) === 'stop' ? 'tool_calls' : raw },
    };
  }

  #failure(error: unknown, { signal }: ModelRequest, started: boolean): unknown {
    if (signal?.aborted === true) return abortError(signal);
    return nativeFailure(error, this.#options.destination, this.#options.name, started);
  }
}

/** Reads reasoning and arguments of calls from the parts of a stream of the AI SDK. Null: the part has neither. */
function deltaOf(part: unknown, calls: Map<string, string>): StreamEvent | null {
  if (!isRecord(part)) return null;
  const [id, delta] = [textOf(part, 'id') ?? '', textOf(part, 'delta') ?? ''];
  if (part['type'] === 'tool-input-start') calls.set(id, textOf(part, 'toolName') ?? '');
  if (delta === '') return null;
  if (part['type'] === 'reasoning-delta') return reasoningEvent(delta);
  return part['type'] === 'tool-input-delta' ? argumentsEvent(delta, id, calls.get(id) ?? null) : null;
}

/** The adapter counts the texts of each answer from zero. */
const withoutId = (event: StreamEvent): StreamEvent =>
  event.type === 'output_text_delta' ? { type: 'output_text_delta', delta: event.delta } : event;

const broken = (): ModelCallError =>
  new ModelCallError('model_failed', 'The answer is broken: it ended before it was done.', { retryable: true });

/** The kinds of Anthropic's errors by the status that they have outside of a stream. */
const STATUS_OF_KIND: { readonly [kind: string]: number } = {
  invalid_request_error: 400,
  authentication_error: 401,
  billing_error: 402,
  permission_error: 403,
  not_found_error: 404,
  request_too_large: 413,
  rate_limit_error: 429,
  api_error: 500,
  timeout_error: 504,
  overloaded_error: 529,
};

/** What the AI SDK refuses before it sends a request. */
const REFUSALS = new Set(['AI_UnsupportedFunctionalityError', 'AI_InvalidPromptError', 'AI_InvalidArgumentError']);

/** Reads an error of the AI SDK: returns what the failed call throws, as the other models of Holdfast throw it. */
function nativeFailure(error: unknown, destination: Destination, model: string, started: boolean): unknown {
  const chain = causesOf(error);
  if (chain.some((item) => item instanceof HoldfastError)) return endpointFailure(error, destination, model, started);
  const refusal = chain.find((item) => REFUSALS.has(textOf(item, 'name') ?? ''));
  if (refusal !== undefined) return new UserError(`${model}: ${textOf(refusal, 'message')}`);
  return endpointFailure(said(error), destination, model, started);
}

/** The error of an answer, with the fields that `classifyModelFailure` judges. */
function said(error: unknown): unknown {
  if (!isRecord(error)) return error;
  const body = jsonOrNull(textOf(error, 'responseBody') ?? '') ?? error;
  const inner = isRecord(body) && isRecord(body['error']) ? body['error'] : body;
  const kind = textOf(inner, 'type');
  const status = STATUS_OF_KIND[kind ?? ''] ?? error['statusCode'];
  if (typeof status !== 'number' || status < 400) return error;
  const message = messageIn(body) ?? textOf(error, 'message') ?? '';
  return Object.assign(new Error(message, { cause: error['cause'] }), {
    ...{ status, code: textOf(inner, 'code') ?? undefined, type: kind ?? undefined },
    headers: headersOf(error['responseHeaders']),
  });
}

function headersOf(value: unknown): Headers {
  const headers = new Headers();
  for (const [name, text] of Object.entries(isRecord(value) ? value : {}))
    if (typeof text === 'string') headers.set(name, text);
  return headers;
}
