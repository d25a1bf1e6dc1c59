import type { ModelResponse, Usage } from '@openai/agents';
import { HoldfastError } from '../../core/errors/errors.js';
import { causesOf, statusOf } from './failure-causes.js';

/** What a request ends with for good: asking again would only do again what was done. Its code is that of the run that fails. */
export class FinalModelError extends HoldfastError {}

/** A model call that failed in a way that its adapter understood. */
export class ModelCallError extends HoldfastError {
  readonly statusCode: number | null;
  /** Whether the same call may succeed later. */
  readonly retryable: boolean;
  /** What the server asks a caller to wait. */
  readonly retryAfterMs: number | null;
  /** Whether a part of the answer was already handed out. */
  readonly responseStarted: boolean;
  /** What the failed call used, where the server said so: it is paid for all the same. Null: unknown. */
  readonly usage: Usage | null;

  constructor(
    code: 'model_failed' | 'model_unknown',
    message: string,
    options: {
      readonly statusCode?: number | null;
      readonly retryable: boolean;
      readonly retryAfterMs?: number | null;
      readonly responseStarted?: boolean;
      readonly usage?: Usage | null;
      readonly cause?: unknown;
      readonly hint?: string;
    },
  ) {
    super(code, message, {
      ...(options.cause === undefined ? {} : { cause: options.cause }),
      ...(options.hint === undefined ? {} : { hint: options.hint }),
    });
    this.statusCode = options.statusCode ?? null;
    this.retryable = options.retryable;
    this.retryAfterMs = options.retryAfterMs ?? null;
    this.responseStarted = options.responseStarted ?? false;
    this.usage = options.usage ?? null;
  }
}

/**
 * An answer that the provider cut, by its limit of tokens or its content filter, before it said anything of use. Calls of such an
 * answer are left out: their arguments may be cut too. The engine records the response; a plain Runner of the SDK fails.
 */
export class CutAnswer extends ModelCallError {
  readonly response: ModelResponse;

  constructor(response: ModelResponse, responseId: string | null = null) {
    const data = response.providerData ?? {};
    const calls: unknown = data['cutCalls'];
    const when = Array.isArray(calls)
      ? `while it called ${calls.at(-1)}, so the call was not made`
      : 'before it said anything';
    const message = `The provider cut the answer (${data['finishReason']}) ${when}.`;
    super('model_failed', message, {
      retryable: false,
      usage: data['usageUnknown'] === true ? null : response.usage,
      hint: 'Raise the limit of tokens of an answer (maxTokens), or ask for less at once.',
    });
    this.response = responseId === null ? response : { ...response, responseId };
  }
}

/** The HTTP status that a model's server failed with; null: it failed without one. The status of our own errors is not it. */
export function httpStatusOf(error: unknown): number | null {
  for (const item of causesOf(error)) {
    const status =
      item instanceof HoldfastError ? (item instanceof ModelCallError ? item.statusCode : null) : statusOf(item);
    if (status !== null) return status;
  }
  return null;
}
