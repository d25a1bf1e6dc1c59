import { HoldfastError } from '../core/errors.js';

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

  constructor(
    code: 'model_failed' | 'model_unknown',
    message: string,
    options: {
      readonly statusCode?: number | null;
      readonly retryable: boolean;
      readonly retryAfterMs?: number | null;
      readonly responseStarted?: boolean;
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
  }
}
