import { randomUUID } from 'node:crypto';
import type {
  Model,
  ModelRequest,
  ModelResponse,
  ModelRetryAdvice,
  ModelRetryAdviceRequest,
  StreamEvent,
} from '@openai/agents';
import { fitsSchema } from './json-schema.js';
import { OllamaAnswer } from './ollama-answer.js';
import { ollamaChunks } from './ollama-client.js';
import { ollamaFailure, ollamaRetryAdvice } from './ollama-failure.js';
import { type OllamaHostOptions, type OllamaTarget, ollamaTarget } from './ollama-host.js';
import { finalRequest, type OllamaPlan, type OllamaRequestOptions, ollamaPlan } from './ollama-request.js';
import { messageId, ollamaResponse } from './ollama-response.js';
import type { OllamaChunk, OllamaRequest } from './ollama-wire.js';
import { doneEvent, isOutputItem, reasoningEvent } from './response-events.js';

export interface OllamaModelOptions extends OllamaHostOptions, OllamaRequestOptions {
  /** Take `<think>…</think>` at the beginning of an answer as thinking. Default false: it is text. */
  readonly extractThinking?: boolean;
  /** Makes the id of each response, of which the ids of its items are made. Default: random. */
  readonly newId?: () => string;
}

type Step = { readonly text: string; readonly thinking: string } | { readonly response: ModelResponse };

/**
 * A model of an Ollama server, over its own `POST /api/chat`. Nothing is contacted before the first call, nothing is
 * printed. A call throws a ModelCallError (a HoldfastError that says whether it is retryable), a UserError for what Ollama
 * cannot do, a ModelBehaviorError for an answer that is none, and an AbortError when its signal fires.
 */
export class OllamaModel implements Model {
  readonly name: string;
  readonly target: OllamaTarget;
  readonly #options: OllamaModelOptions;
  #cannotThink = false;

  /** Throws `model_unknown` or `config_invalid` when no host can be decided on for the name. */
  constructor(name: string, options: OllamaModelOptions = {}) {
    this.name = name;
    this.target = ollamaTarget(name, options);
    this.#options = options;
  }

  async getResponse(request: ModelRequest): Promise<ModelResponse> {
    try {
      for await (const step of this.#steps(request, this.#newId())) if ('response' in step) return step.response;
    } catch (error) {
      throw ollamaFailure(error, this.target, false);
    }
    throw new Error('An answer ended without a response.');
  }

  async *getStreamedResponse(request: ModelRequest): AsyncIterable<StreamEvent> {
    const id = this.#newId();
    let started = false;
    try {
      for await (const step of this.#steps(request, id)) {
        if (!started) yield { type: 'response_started' };
        started = true;
        if ('response' in step) {
          yield doneEvent(step.response, step.response.output.filter(isOutputItem));
          continue;
        }
        if (step.thinking !== '') yield reasoningEvent(step.thinking);
        if (step.text !== '') yield { type: 'output_text_delta', delta: step.text, itemId: messageId(id) };
      }
    } catch (error) {
      throw ollamaFailure(error, this.target, started);
    }
  }

  getRetryAdvice({ error }: ModelRetryAdviceRequest): ModelRetryAdvice | undefined {
    return ollamaRetryAdvice(error);
  }

  #newId(): string {
    return (this.#options.newId ?? randomUUID)().replaceAll('-', '');
  }

  /** The text and the thinking of each chunk, which may be empty, and at the end the response. */
  async *#steps(request: ModelRequest, id: string): AsyncGenerator<Step, void, undefined> {
    const plan = ollamaPlan(this.target.model, request, this.#options);
    const raw = request.modelSettings.preserveRawUsage === true;
    const draft = this.#emptyAnswer();
    for await (const chunk of this.#chunks(plan, plan.request, request.signal)) {
      const { text, thinking } = draft.add(chunk);
      yield { text: plan.finalFormat === null ? text : '', thinking };
    }
    if (isFinal(plan, draft)) {
      if (plan.finalFormat !== null) yield { text: draft.text, thinking: '' };
      yield { response: ollamaResponse(id, draft, plan, [], raw) };
      return;
    }
    const final = this.#emptyAnswer();
    for await (const chunk of this.#chunks(plan, finalRequest(plan, draft.text), request.signal)) {
      yield final.add(chunk);
    }
    yield { response: ollamaResponse(id, final, plan, [draft], raw) };
  }

  #emptyAnswer(): OllamaAnswer {
    return new OllamaAnswer(this.#options.extractThinking ?? false);
  }

  /** A model that cannot think is asked again without, unless whoever asks for this call wants it to think. */
  async *#chunks(
    plan: OllamaPlan,
    request: OllamaRequest,
    signal: AbortSignal | undefined,
  ): AsyncIterable<OllamaChunk> {
    if (!plan.thinkIsDefault) return yield* ollamaChunks(this.target, request, signal);
    const { think: _think, ...thoughtless } = request;
    if (!this.#cannotThink) {
      let started = false;
      try {
        for await (const chunk of ollamaChunks(this.target, request, signal)) {
          started = true;
          yield chunk;
        }
        return;
      } catch (error) {
        if (started || !(error instanceof Error) || !/does not support thinking/i.test(error.message)) throw error;
        this.#cannotThink = true;
      }
    }
    yield* ollamaChunks(this.target, thoughtless, signal);
  }
}

/** Whether an answer needs no second question for the form that is wanted. */
const isFinal = ({ finalFormat, required }: OllamaPlan, draft: OllamaAnswer): boolean =>
  finalFormat === null ||
  required !== null ||
  draft.calls.length > 0 ||
  draft.text.trim() === '' ||
  fitsSchema(draft.text, finalFormat);
