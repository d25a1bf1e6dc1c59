import type { ModelRetryAdvice } from '@openai/agents';
import { causesOf, isNetwork } from './failure-causes.js';
import { ModelCallError } from './model-call-error.js';

/**
 * What the Runner's retry policy needs to know about a failed call. A part of an answer that was handed out stays where it
 * is: the Runner, unlike a durable run, has no way to take it back, so it must not ask again.
 */
export function retryAdviceOf(error: unknown): ModelRetryAdvice | undefined {
  if (!(error instanceof ModelCallError)) return undefined;
  const { retryable, retryAfterMs, responseStarted, statusCode } = error;
  const wait = retryAfterMs === null ? {} : { retryAfterMs };
  return {
    suggested: retryable && !responseStarted,
    responseStarted,
    reason: error.message,
    ...wait,
    ...(responseStarted ? { replaySafety: 'unsafe' } : {}),
    normalized: {
      ...wait,
      ...(statusCode === null ? {} : { statusCode }),
      isNetworkError: causesOf(error).some(isNetwork),
      isAbort: false,
    },
  };
}
