import type { Query } from './calls.js';
import { misused } from './failure.js';

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
/** As long as every runtime waits. */
const LONGEST_TIMEOUT_MS = 2_147_483_647;

/** Refuses options that nothing reads, such as a mistyped key, without which a request may be done twice. Throws `invalid_request`. */
export function assertOptions(given: unknown, known: readonly string[]): void {
  if (typeof given !== 'object' || given === null)
    throw misused(`The options are ${JSON.stringify(given)}.`, `Give an object with some of ${known.join(', ')}.`);
  const unknown = Object.keys(given).find((name) => !known.includes(name));
  if (unknown !== undefined) throw misused(`The option ${unknown} is not known here.`, `Give ${known.join(', ')}.`);
}

/** Where a stream begins, and how long it connects again. Throws `invalid_request`. */
export function assertFollowing(given: object, filters: readonly string[] = []): void {
  assertOptions(given, ['after', 'signal', 'retryForMs', ...filters]);
  const { after = 0, retryForMs = 0 } = given as { readonly after?: unknown; readonly retryForMs?: unknown };
  const isPlace = Number.isSafeInteger(after) && Number(after) >= 0;
  if (!(isPlace || (after === 'now' && filters.length > 0)))
    throw misused(`after is ${JSON.stringify(after)}.`, 'Give the sequence number of an event, or 0.');
  if (!(typeof retryForMs === 'number' && retryForMs >= 0))
    throw misused(`retryForMs is ${String(retryForMs)}.`, 'Give milliseconds, or 0.');
}

export function keyHeader(key: unknown): { readonly 'Idempotency-Key': string } {
  if (typeof key === 'string') return { 'Idempotency-Key': quoted(key) };
  throw misused(`The key is ${JSON.stringify(key) ?? 'undefined'}.`, 'Give a text that names what is asked for.');
}

const quoted = (key: string): string => `"${key.replaceAll(/["\\]/g, '\\$&')}"`;

/** Takes what a call was given apart: the values of its path, its query or body, and its options. */
export function requestOf({ method, path, takes }: Route, given: readonly unknown[]) {
  const left = [...given];
  const filled = path.replaceAll(/\{(\w+)\}/g, (_all, name: string) => pathValue(name, left.shift()));
  const input = takes ? ((left.shift() ?? {}) as Query<never>) : {};
  const last = left.shift() ?? {};
  assertOptions(last, ['signal', 'timeoutMs', 'key']);
  const { key, ...options } = last as Given;
  if (left.length > 0)
    throw misused(`The call has ${given.length} arguments.`, `Give ${given.length - left.length} of them at most.`);
  const sent = method === 'GET' ? { query: input } : method === 'POST' ? { body: input } : {};
  const ask: Ask = { ...sent, headers: key === undefined ? {} : keyHeader(key) };
  return { path: filled, ask, options };
}

/** A value in a path. An empty one, or one of dots, would make the address that of another operation. Throws `invalid_request`. */
function pathValue(name: string, value: unknown): string {
  if (typeof value === 'string' && value !== '' && !/^\.\.?$/.test(value) && !/\p{Surrogate}/u.test(value))
    return encodeURIComponent(value);
  const hint = 'Give a text that is not empty, such as the id that the server gave.';
  throw misused(`The value for ${name} of the path is ${JSON.stringify(value) ?? 'undefined'}, which is none.`, hint);
}

/** The headers, as they are. Throws `invalid_request` for a value that no header can have. */
export function sendable(headers: { readonly [name: string]: string }): { readonly [name: string]: string } {
  for (const [name, value] of Object.entries(headers)) {
    try {
      new Headers({ [name]: value });
    } catch {
      const hint = 'Leave out line breaks, and characters beyond ISO 8859-1.';
      throw misused(`The header ${name} cannot have the value that it was given.`, hint);
    }
  }
  return headers;
}

/** A body as JSON. Throws `invalid_request` for what JSON cannot carry. */
export function bodyText(body: unknown): string {
  try {
    return JSON.stringify(
      body,
      finiteOr((name, value) => new Error(`${JSON.stringify(name)} is ${value}`)),
    );
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw misused(`The body of the request is no JSON: ${why}.`, 'Give values that JSON can carry.');
  }
}

/** A replacer for `JSON.stringify`, which would write null for infinite numbers. Throws what `refusal` makes of one. */
export const finiteOr =
  (refusal: (name: string, value: number) => Error) =>
  (name: string, value: unknown): unknown => {
    if (typeof value !== 'number' || Number.isFinite(value)) return value;
    throw refusal(name, value);
  };

/** The path with its query; what is undefined is left out. */
export function withQuery(path: string, query: Ask['query'] = {}): string {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) if (value !== undefined) search.set(name, String(value));
  return search.size === 0 ? path : `${path}?${search}`;
}

/** Fires after the time, and when the signal of the caller does. */
export const signalOf = ({ signal, timeoutMs = ANSWER_TIMEOUT_MS }: Given): AbortSignal => {
  if (!(Number.isInteger(timeoutMs) && timeoutMs >= 0 && timeoutMs <= LONGEST_TIMEOUT_MS))
    throw misused(`timeoutMs is ${timeoutMs}.`, `Give a whole number from 0 to ${LONGEST_TIMEOUT_MS}.`);
  const timeout = AbortSignal.timeout(timeoutMs);
  return signal === undefined ? timeout : AbortSignal.any([timeout, signal]);
};
