import type { Problem } from '../../core/errors/problem.js';
import { exactlyParsed, exactText, parseExact } from '../text/exact.js';

/** What the server answered in place of what was asked for. */
export class ProblemError extends Error {
  readonly problem: Problem;
  constructor(problem: Problem) {
    super(problem.detail);
    this.problem = problem;
  }
}

/** Whether the server does not know any more who asks. */
export const isSignedOut = (error: unknown): boolean =>
  error instanceof ProblemError && error.problem.code === 'unauthenticated';

/** The server gave no answer. */
export class NoAnswerError extends Error {}

type Method = 'GET' | 'POST' | 'DELETE';

export interface Asked {
  readonly method?: Method;
  readonly body?: unknown;
  readonly query?: { readonly [name: string]: string | number | undefined };
  readonly signal?: AbortSignal;
  readonly key?: string;
}

const isProblem = (value: unknown): value is Problem =>
  typeof value === 'object' && value !== null && 'code' in value && 'detail' in value;

export function addressOf(path: string, query: Asked['query'] = {}): string {
  const given = Object.entries(query).flatMap(([name, value]) =>
    value === undefined || value === '' ? [] : [[name, String(value)] as [string, string]],
  );
  const text = new URLSearchParams(given).toString();
  return `/api/v1/${path}${text === '' ? '' : `?${text}`}`;
}

/** Asks the server. Throws `ProblemError` and `NoAnswerError`. */
export async function ask<T>(path: string, { method = 'GET', body, query, signal, key }: Asked = {}): Promise<T> {
  const response = await send(addressOf(path, query), {
    method,
    headers: {
      Accept: 'application/json',
      'Holdfast-Console': '1',
      ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
      ...(key === undefined ? {} : { 'Idempotency-Key': key }),
    },
    ...(body === undefined ? {} : { body: exactText(body) }),
    ...(signal === undefined ? {} : { signal }),
  });
  const text = await response.text();
  if (response.ok) return exactlyParsed<T>(text);
  throw problemIn(text, response.status);
}

/** The error in an answer that is no success. What is no problem document comes from something before the server. */
export function problemIn(text: string, status: number): Error {
  try {
    const value = parseExact(text);
    if (isProblem(value)) return new ProblemError(value);
  } catch {
    // Not JSON: said below.
  }
  return new NoAnswerError(`The server answered ${status}.`);
}

/** `fetch` that tells a server that is away from one that refuses. */
export async function send(address: string, request: RequestInit): Promise<Response> {
  try {
    return await fetch(address, { ...request, credentials: 'same-origin', cache: 'no-store', redirect: 'error' });
  } catch (error) {
    if (request.signal?.aborted === true) throw error;
    throw new NoAnswerError('The server does not answer.', { cause: error });
  }
}
