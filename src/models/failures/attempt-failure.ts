import { UserError } from '@openai/agents';
import { HoldfastError } from '../../core/errors/errors.js';
import type { AttemptFailure } from '../../core/routing/route-failure.js';
import { causesOf, textOf } from './failure-causes.js';
import { httpStatusOf } from './http-status.js';
import { FinalModelError, ModelCallError } from './model-call-error.js';
import { classifyModelFailure } from './model-failure.js';

/** Reads the error of an attempt. `timedOut`: the router itself gave it up. */
export function attemptFailureOf(error: unknown, timedOut: boolean): AttemptFailure {
  const { message, retryable, retryAfterMs } = classifyModelFailure(error);
  const chain = causesOf(error);
  return {
    status: httpStatusOf(error),
    codes: chain.flatMap((item) => [textOf(item, 'code'), textOf(item, 'type')].filter((code) => code !== null)),
    message,
    passes: timedOut || (retryable && !(error instanceof FinalModelError)),
    retryAfterMs,
    timedOut,
    unsent: error instanceof UserError || (error instanceof HoldfastError && !(error instanceof ModelCallError)),
  };
}
