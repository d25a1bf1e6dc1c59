import { type ModelRetryAdvice, UserError } from '@openai/agents';
import { ERRORS, type ErrorCode, HoldfastError } from '../../core/errors/errors.js';
import { isRecord } from '../../core/json.js';
import type { AttemptFailure } from '../../core/routing/route-failure.js';
import { causesOf, isAbort, isNetwork, isTimeout, statusOf, textOf } from './failure-causes.js';
import { failureText } from './failure-text.js';
import { FinalModelError, httpStatusOf, ModelCallError } from './model-call-error.js';

const LONGEST_MS = 24 * 60 * 60 * 1000;

/**
 * What a server asks a caller to wait, in milliseconds, at most a day: `retry-after-ms` (OpenAI), or `Retry-After` in
 * seconds or as a date (RFC 9110, 10.2.3). Null: nothing understandable was said.
 */
function retryAfterMs(headers: Headers, now: number): number | null {
  const exact = amount(headers.get('retry-after-ms'));
  if (exact !== null) return bounded(exact);
  const text = headers.get('retry-after');
  const seconds = amount(text);
  if (seconds !== null) return bounded(seconds * 1000);
  const date = text === null ? Number.NaN : Date.parse(text);
  return Number.isNaN(date) ? null : bounded(date - now);
}

const amount = (text: string | null): number | null =>
  text !== null && /^\s*\d+(?:\.\d+)?\s*$/.test(text) ? Number(text) : null;

const bounded = (ms: number): number => Math.round(Math.min(Math.max(ms, 0), LONGEST_MS));

interface ModelFailure {
  readonly code: ErrorCode;
  /** Without keys, readable, at most 2,000 characters. */
  readonly message: string;
  /** Whether the same call may succeed later. An aborted call is not retryable: its caller gave it up. */
  readonly retryable: boolean;
  /** What the server asks a caller to wait; null: nothing was said. */
  readonly retryAfterMs: number | null;
  /** The way out, where more is known than the table of errors says; null: what the table says. */
  readonly hint: string | null;
}

const RETRYABLE_STATUS = new Set([408, 409, 425, 429]);
/** The server will say the same again: it has no such method, or no such version of HTTP. */
const FINAL_STATUS = new Set([501, 505]);

const passesBy = (status: number): boolean =>
  RETRYABLE_STATUS.has(status) || (status >= 500 && !FINAL_STATUS.has(status));

/** Judges any error of a model call: of the `openai` and `ollama` packages, of `fetch` and sockets, and our own. */
export function classifyModelFailure(error: unknown, now: number = Date.now()): ModelFailure {
  if (error instanceof FinalModelError)
    return failure(error.code, failureText(error.message), false, null, hintOf(error));
  if (error instanceof ModelCallError) {
    return failure(error.code, failureText(error.message), error.retryable, error.retryAfterMs, hintOf(error));
  }
  if (error instanceof HoldfastError) {
    return failure(error.code, failureText(error.message), ERRORS[error.code].then === 'retry', null, hintOf(error));
  }
  const chain = causesOf(error);
  const message = messageOf(chain);
  if (firstOf(chain, isAbort) < firstOf(chain, isTimeout)) return failure('model_failed', message, false, null);
  const status = chain.map(statusOf).find((found) => found !== null) ?? null;
  if (status !== null) return judgeStatus(status, chain, message, now);
  const retryable = chain.some((item) => isTimeout(item) || isNetwork(item) || item instanceof SyntaxError);
  return failure('model_failed', message, retryable, null);
}

function judgeStatus(status: number, chain: readonly unknown[], message: string, now: number): ModelFailure {
  const codes = chain.map((item) => textOf(item, 'code') ?? textOf(item, 'type'));
  if (codes.includes('model_not_found') || (status === 404 && /\bmodel\b/i.test(message))) {
    return failure('model_unknown', message, false, null);
  }
  const headers = chain.map((item) => (isRecord(item) ? item['headers'] : undefined)).find(isHeaders);
  const asked = headers?.get('x-should-retry') ?? null;
  const retryable =
    asked === 'true' || (asked !== 'false' && passesBy(status) && !codes.includes('insufficient_quota'));
  return failure('model_failed', message, retryable, headers === undefined ? null : retryAfterMs(headers, now));
}

const hintOf = ({ code, hint }: HoldfastError): string | null => (hint === ERRORS[code].hint ? null : hint);

const failure = (
  code: ErrorCode,
  message: string,
  retryable: boolean,
  wait: number | null,
  hint: string | null = null,
): ModelFailure => ({
  code,
  message: message === '' ? 'The model call failed without saying why.' : message,
  retryable,
  retryAfterMs: retryable ? wait : null,
  hint,
});

function messageOf(chain: readonly unknown[]): string {
  const parts: string[] = [];
  for (const item of chain) {
    const part = typeof item === 'string' ? item : ((textOf(item, 'message') || textOf(item, 'code')) ?? '');
    if (part !== '' && !parts.some((known) => known.includes(part))) parts.push(part);
  }
  return failureText(parts.join(': '));
}

const firstOf = (chain: readonly unknown[], test: (item: unknown) => boolean): number => {
  const index = chain.findIndex(test);
  return index === -1 ? Number.POSITIVE_INFINITY : index;
};

const isHeaders = (value: unknown): value is Headers => value instanceof Headers;

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
