import { HoldfastError } from '../../src/core/errors/errors.js';
import { httpStatusOf } from '../../src/models/failures/http-status.js';
import { FinalModelError } from '../../src/models/failures/model-call-error.js';
import { classifyModelFailure } from '../../src/models/failures/model-failure.js';
import type { ModelFailure } from '../../steps/calls/call-model.js';

/** What a model call that threw fails its run with, and whether the same call may succeed later. */
export function failureOfModel(error: unknown): ModelFailure {
  if (error instanceof FinalModelError) return { error: error.view(), retryable: false, retryAfterMs: null };
  const { code, message, retryable, retryAfterMs, hint } = classifyModelFailure(error);
  const why = code === 'model_failed' && !retryable && isRefusal(httpStatusOf(error)) ? 'model_refused' : code;
  return { error: new HoldfastError(why, message, hint === null ? {} : { hint }).view(), retryable, retryAfterMs };
}

/** The server was there and would not: a key that is wrong, a request that it cannot take. */
const isRefusal = (status: number | null): boolean => status !== null && status >= 400 && status < 500;
