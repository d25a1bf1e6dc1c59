import { randomUUID } from 'node:crypto';
import type {
  Model,
  ModelRequest,
  ModelResponse,
  ModelRetryAdvice,
  ModelRetryAdviceRequest,
  StreamEvent,
} from '@openai/agents';
import { z } from 'zod';
import { jsonObject, sha256 } from '../../core/json.js';
import { badCassette, type Cassette } from '../cassettes/cassette.js';
import { recordingFetch } from '../cassettes/cassette-recorder.js';
import { retryAdviceOf } from '../failures/model-failure.js';
import { DEFAULT_TIMEOUT_MS } from '../openai/endpoint.js';
import { fitsSchema } from '../providers/json-schema.js';
import { doneEvent, isOutputItem, reasoningEvent } from '../providers/response-events.js';
import { OllamaAnswer } from './ollama-answer.js';
import { type OllamaWire, ollamaChunks, ollamaFailure } from './ollama-client.js';
import { type OllamaHostOptions, type OllamaTarget, ollamaTarget } from './ollama-host.js';
import { assertOllamaOptions } from './ollama-options.js';
import { finalRequest, type OllamaPlan, type OllamaRequestOptions, ollamaPlan } from './ollama-request.js';
import { messageId, ollamaResponse } from './ollama-response.js';
import type { OllamaChunk, OllamaRequest } from './ollama-wire.js';

/** The options that shape what is sent and how it is read: those that a recording is played with. */
const shaping = z.object({
  numCtx: z.number().optional(),
  keepAlive: z.union([z.number(), z.string()]).optional(),
  think: z.union([z.boolean(), z.string()]).optional(),
  options: jsonObject.optional(),
  toolImages: z.enum(['tool', 'user']).optional(),
  extractThinking: z.boolean().optional(),
});

/** How the requests of a model leave: recorded, if its options say so. */
function ollamaRecording({ fetch: send, recordTo, ...options }: OllamaModelOptions): typeof fetch | undefined {
  if (recordTo === undefined) return send;
  const settings = jsonObject.parse(JSON.parse(JSON.stringify(shaping.parse(options))));
  return recordingFetch({ directory: recordTo, settings }, send);
}

/** The options of the model that was recorded. Throws `cassette_invalid`. */
export function ollamaRecorded({ name, head }: Cassette): OllamaModelOptions {
  const parsed = shaping.safeParse(head.settings);
  if (!parsed.success)
    throw badCassette(`The settings of the cassette "${name}" are none of an Ollama model.`, parsed.error);
  const set = Object.entries(parsed.data).filter(([, value]) => value !== undefined);
  return Object.fromEntries(set);
}

export interface OllamaModelOptions extends OllamaHostOptions, OllamaRequestOptions {
  /** Take `<think>…</think>` at the beginning of an answer as thinking. Default false: it is text. */
  readonly extractThinking?: boolean;
  /** How long the server may say nothing, before an answer and in it. Default and at most 300,000 ms. */
  readonly timeoutMs?: number;
  /** Makes the id of each response; the ids of its items are made from it. Default: a digest of what went over the wire. */
  readonly newId?: () => string;
  /** How requests leave. Default: the `fetch` of the process. */
  readonly fetch?: typeof fetch;
  /** A directory, to which all traffic is recorded (docs/models/cassettes.md). Default: none. */
  readonly recordTo?: string;
}

type Step =
  | { readonly id: string; readonly text: string; readonly thinking: string }
  | { readonly response: ModelResponse };

/**
 * A model of an Ollama server, over its own `POST /api/chat`. Nothing is contacted before the first call, nothing is
 * printed. A call throws a ModelCallError (a HoldfastError that says whether it is retryable), a UserError for what Ollama
 * cannot do, a ModelBehaviorError for an answer that is none, and an AbortError when its signal fires.
 */
export class OllamaModel implements Model {
  readonly name: string;
  readonly target: OllamaTarget;
  readonly #options: OllamaModelOptions;
  readonly #wire: OllamaWire;
  #cannotThink = false;

  /** Throws `model_unknown` or `config_invalid` when no host can be decided on for the name. */
  constructor(name: string, options: OllamaModelOptions = {}) {
    assertOllamaOptions(options);
    this.name = name;
    this.target = ollamaTarget(name, options);
    this.#options = options;
    const { timeoutMs = DEFAULT_TIMEOUT_MS } = options;
    this.#wire = { timeoutMs, send: ollamaRecording(options) ?? null };
  }

  async getResponse(request: ModelRequest): Promise<ModelResponse> {
    try {
      for await (const step of this.#steps(request)) if ('response' in step) return step.response;
    } catch (error) {
      throw ollamaFailure(error, this.target, false);
    }
    throw new Error('An answer ended without a response.');
  }

  async *getStreamedResponse(request: ModelRequest): AsyncIterable<StreamEvent> {
    let started = false;
    try {
      for await (const step of this.#steps(request)) {
        if (!started) yield { type: 'response_started' };
        started = true;
        if ('response' in step) {
          yield doneEvent(step.response, step.response.output.filter(isOutputItem));
          continue;
        }
        if (step.thinking !== '') yield reasoningEvent(step.thinking);
        if (step.text !== '') yield { type: 'output_text_delta', delta: step.text, itemId: messageId(step.id) };
      }
    } catch (error) {
      throw ollamaFailure(error, this.target, started);
    }
  }

  getRetryAdvice({ error }: ModelRetryAdviceRequest): ModelRetryAdvice | undefined {
    return retryAdviceOf(error);
  }

  /** The same traffic gives the same ids. The server's time, in nanoseconds, tells equal answers to equal questions apart. */
  #idOf(request: OllamaRequest, first: OllamaChunk): string {
    const { newId } = this.#options;
    if (newId !== undefined || !first.created_at) return (newId ?? randomUUID)().replaceAll('-', '');
    return sha256(JSON.stringify([request, first])).slice('sha256:'.length, 'sha256:'.length + 32);
  }

  /** The text and the thinking of each chunk, which may be empty, and at the end the response. */
  async *#steps(request: ModelRequest): AsyncGenerator<Step, void, undefined> {
    const plan = ollamaPlan(this.target.model, request, this.#options);
    const raw = request.modelSettings.preserveRawUsage === true;
    const draft = this.#emptyAnswer();
    let id = '';
    for await (const chunk of this.#chunks(plan, plan.request, request.signal)) {
      id ||= this.#idOf(plan.request, chunk);
      const { text, thinking } = draft.add(chunk);
      yield { id, text: plan.finalFormat === null ? text : '', thinking };
    }
    if (isFinal(plan, draft)) {
      if (plan.finalFormat !== null) yield { id, text: draft.text, thinking: '' };
      yield { response: ollamaResponse(id, draft, plan, [], raw) };
      return;
    }
    const final = this.#emptyAnswer();
    for await (const chunk of this.#chunks(plan, finalRequest(plan, draft.text), request.signal)) {
      yield { id, ...final.add(chunk) };
    }
    yield { response: ollamaResponse(id, final, plan, [draft], raw) };
  }

  #emptyAnswer(): OllamaAnswer {
    return new OllamaAnswer(this.#options.extractThinking ?? false);
  }

  /** A model that cannot think is asked again without, unless the one that asks for this call wants it to think. */
  async *#chunks(
    plan: OllamaPlan,
    request: OllamaRequest,
    signal: AbortSignal | undefined,
  ): AsyncIterable<OllamaChunk> {
    if (!plan.thinkIsDefault) return yield* ollamaChunks(this.target, request, signal, this.#wire);
    const { think: _think, ...thoughtless } = request;
    if (!this.#cannotThink) {
      let started = false;
      try {
        for await (const chunk of ollamaChunks(this.target, request, signal, this.#wire)) {
          started = true;
          yield chunk;
        }
        return;
      } catch (error) {
        if (started || !(error instanceof Error) || !/does not support thinking/i.test(error.message)) throw error;
        this.#cannotThink = true;
      }
    }
    yield* ollamaChunks(this.target, thoughtless, signal, this.#wire);
  }
}

/** Whether an answer needs no second question for the form that is wanted. */
const isFinal = ({ finalFormat, required }: OllamaPlan, draft: OllamaAnswer): boolean =>
  finalFormat === null ||
  required !== null ||
  draft.calls.length > 0 ||
  draft.text.trim() === '' ||
  fits(draft.text, finalFormat);

const fits = (text: string, format: string | object): boolean =>
  fitsSchema(text, typeof format === 'string' ? {} : format);
