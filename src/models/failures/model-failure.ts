import { ERRORS, type ErrorCode, HoldfastError } from '../../core/errors/errors.js';
import { isRecord } from '../../core/json.js';
import { causesOf, isAbort, isNetwork, isTimeout, statusOf, textOf } from './failure-causes.js';
import { failureText } from './failure-text.js';
import { FinalModelError, ModelCallError } from './model-call-error.js';
import { retryAfterMs } from './retry-after.js';

export interface ModelFailure {
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

const RETRYABLE_STATUS = new Set([408, 409, 425, 429, 500, 502, 503, 504, 529]);

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
    asked === 'true' || (asked !== 'false' && RETRYABLE_STATUS.has(status) && !codes.includes('insufficient_quota'));
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
