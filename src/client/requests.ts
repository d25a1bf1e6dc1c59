import type { Query } from './calls.js';

/** What a request needs to know of an operation. */
export interface Route {
  readonly method: string;
  readonly path: string;
  /** Whether it takes a query (GET) or a body (POST). */
  readonly takes: boolean;
}

export interface Ask {
  readonly query?: Query<never>;
  readonly body?: unknown;
  readonly headers?: { readonly [name: string]: string };
}

interface Given {
  readonly key?: string;
  readonly signal?: AbortSignal | undefined;
  readonly timeoutMs?: number;
}

export const ANSWER_TIMEOUT_MS = 90_000;

export const keyHeader = (key: string) => ({ 'Idempotency-Key': `"${key.replaceAll(/["\\]/g, '\\$&')}"` });

/** Takes what a call was given apart: the values of its path, its query or body, and its options. */
export function requestOf({ method, path, takes }: Route, given: readonly unknown[]) {
  const left = [...given];
  const filled = path.replaceAll(/\{\w+\}/g, () => encodeURIComponent(String(left.shift())));
  const input = takes ? ((left.shift() ?? {}) as Query<never>) : {};
  const { key, ...options } = (left.shift() ?? {}) as Given;
  const sent = method === 'GET' ? { query: input } : method === 'POST' ? { body: input } : {};
  const ask: Ask = { ...sent, headers: key === undefined ? {} : keyHeader(key) };
  return { path: filled, ask, options };
}

/** The path with its query; what is undefined is left out. */
export function withQuery(path: string, query: Ask['query'] = {}): string {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) if (value !== undefined) search.set(name, String(value));
  return search.size === 0 ? path : `${path}?${search}`;
}

/** Fires after the time, and when the signal of the caller does. */
export const signalOf = ({ signal, timeoutMs = ANSWER_TIMEOUT_MS }: Given): AbortSignal => {
  const timeout = AbortSignal.timeout(timeoutMs);
  return signal === undefined ? timeout : AbortSignal.any([timeout, signal]);
};
