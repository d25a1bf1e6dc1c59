import type { Model, ModelRequest, ModelResponse, StreamEvent, Usage } from '@openai/agents';
import { HoldfastError } from '../../core/errors/errors.js';
import { causesOf, isUnreached } from '../failures/failure-causes.js';
import { CutAnswer, FinalModelError, httpStatusOf, ModelCallError } from '../failures/model-call-error.js';
import { throwIfAborted, unlessAborted } from './abort.js';
import { chargedUsage, emptyAnswer, finishReasonIn, isCutReason, isEmptyAnswer } from './answer-terms.js';
import { markedItems, requestFor } from './answered-by.js';
import {
  type Admission,
  type AttemptContext,
  type AttemptedModel,
  type AttemptOutcome,
  type AttemptTarget,
  type AttemptWatch,
  AttemptWatchError,
  isAttempting,
  type Refusal,
} from './model-attempt.js';
import { doneEvent, isOutputItem } from './response-events.js';
import { usageOf } from './streamed-response.js';

/** A model for one request: a router has its attempts admitted itself, any other is asked once. */
export const attemptOf = (model: Model, target: AttemptTarget, context: AttemptContext): AttemptedModel =>
  isAttempting(model) ? model.attempt(context) : new SingleAttempt(model, target, context.watch);

/** An attempt that was not let out. */
export class AttemptRefused extends FinalModelError {
  readonly refusal: Refusal;

  constructor({ provider, model }: AttemptTarget, refusal: Refusal) {
    const { error, reason } = refusal;
    const message = error?.message ?? `${provider}/${model} was not asked: ${reason}.`;
    super(error?.code ?? 'model_failed', message, error === null ? {} : { hint: error.hint });
    this.refusal = refusal;
  }
}

/**
 * One attempt at one model. Throws what the model throws, AttemptRefused, and an AbortError as soon as the signal fires: a
 * model that ignores its signal is left behind, and its attempt is settled all the same.
 */
export class SingleAttempt implements AttemptedModel {
  readonly route = null;
  readonly #model: Model;
  readonly #target: AttemptTarget;
  readonly #watch: AttemptWatch;

  constructor(model: Model, target: AttemptTarget, watch: AttemptWatch) {
    this.#model = model;
    this.#target = target;
    this.#watch = watch;
  }

  async getResponse(request: ModelRequest): Promise<ModelResponse> {
    const settle = await this.#admitted(request);
    try {
      const response = await unlessAborted(this.#model.getResponse(requestFor(this.#target, request)), request.signal);
      await settle(chargedUsage(response), 'answered');
      if (isEmpty(response)) throw emptyAnswer(null);
      return { ...response, output: markedItems(this.#target, response.output) };
    } catch (error) {
      await settle(usageIn(error), outcomeOf(error));
      if (error instanceof CutAnswer) return this.#cut(error);
      throw error;
    }
  }

  async *getStreamedResponse(request: ModelRequest): AsyncIterable<StreamEvent> {
    const settle = await this.#admitted(request);
    const { signal } = request;
    const events = this.#model.getStreamedResponse(requestFor(this.#target, request))[Symbol.asyncIterator]();
    let outcome: AttemptOutcome = 'failed';
    let usage: Usage | null = null;
    let started = false;
    try {
      for (;;) {
        const { done, value } = await unlessAborted(events.next(), signal);
        if (done === true) break;
        started = true;
        if (value.type === 'response_done') {
          const { response } = value;
          const answer = { ...response, usage: usageOf(response.usage) };
          usage = chargedUsage(answer);
          outcome = 'answered';
          await settle(usage, outcome);
          if (isEmpty(answer)) throw emptyAnswer(null);
          yield { ...value, response: { ...response, output: markedItems(this.#target, response.output) } };
        } else yield value;
      }
    } catch (error) {
      if (!started || error instanceof CutAnswer) outcome = outcomeOf(error);
      usage ??= usageIn(error);
      if (!(error instanceof CutAnswer)) throw error;
      await settle(usage, outcome);
      const response = this.#cut(error);
      yield doneEvent(response, response.output.filter(isOutputItem));
    } finally {
      // A stream that waits for more cannot be told to return before more has come.
      void events.return?.().catch(() => undefined);
      await settle(usage, outcome);
    }
  }

  /** The engine records what was cut, and decides by the reason what becomes of the run. */
  #cut({ response }: CutAnswer): ModelResponse {
    return { ...response, output: markedItems(this.#target, response.output) };
  }

  async #admitted(request: ModelRequest): Promise<Admission['settle']> {
    throwIfAborted(request.signal);
    const answer = await accounted(() => this.#watch.admit(this.#target, request));
    if (!answer.admitted) throw new AttemptRefused(this.#target, answer);
    let settled = false;
    return async (usage, outcome) => {
      if (settled) return;
      settled = true;
      await accounted(() => answer.settle(usage, outcome));
    };
  }
}

/** An answer that was cut may have nothing left: that is no failure of the call. */
const isEmpty = (response: Pick<ModelResponse, 'output'> & Parameters<typeof finishReasonIn>[0]): boolean =>
  isEmptyAnswer(response.output) && !isCutReason(finishReasonIn(response));

/** What a failed call used, where its server said so. */
const usageIn = (error: unknown): Usage | null => (error instanceof ModelCallError ? error.usage : null);

async function accounted<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw new AttemptWatchError(error);
  }
}

/** By these a server says that it has not begun: 529 is Anthropic's "overloaded". */
const NOT_SERVED: ReadonlySet<number> = new Set([503, 529]);

/** What became of an attempt that threw. */
export function outcomeOf(error: unknown): AttemptOutcome {
  if (error instanceof CutAnswer) return 'answered';
  const status = httpStatusOf(error);
  if (status !== null && (status < 500 || NOT_SERVED.has(status))) return 'rejected';
  if (causesOf(error).some(isUnreached) || (error instanceof HoldfastError && error.code === 'model_unknown'))
    return 'failed_before_sending';
  return 'failed';
}
