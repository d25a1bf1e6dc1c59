import { createHash } from 'node:crypto';
import canonicalizeJcs from 'canonicalize';
import { z } from 'zod';
import { HoldfastError } from './errors.js';

export type JsonValue = null | boolean | number | string | readonly JsonValue[] | { readonly [key: string]: JsonValue };
export type JsonObject = { readonly [key: string]: JsonValue };

/** Any JSON value; what comes in over a border is parsed by it. */
export const jsonValue: z.ZodType<JsonValue> = z.json();
export const jsonObject: z.ZodType<JsonObject> = z.record(z.string(), jsonValue);

/** Text as a column of PostgreSQL keeps it: without NUL and lone surrogates. */
export const plainText = (text: string): string => text.replaceAll('\u0000', '\uFFFD').toWellFormed();

const DEPTH_LIMIT = 200;

/**
 * Refuses what RFC 8785 cannot carry or what libraries convert silently: non-finite numbers, lone surrogates, holes,
 * `undefined`, `toJSON`, class instances, symbols, cycles and nesting beyond 200 levels.
 */
function assertPlain(value: unknown, path: string, depth: number): asserts value is JsonValue {
  if (value === null || typeof value === 'boolean') return;
  if (typeof value === 'string') {
    if (!value.isWellFormed()) throw notJson(path, 'a string with a lone surrogate');
    return;
  }
  if (typeof value === 'number') {
    if (!Number.isFinite(value)) throw notJson(path, String(value));
    return;
  }
  if (typeof value !== 'object') throw notJson(path, typeof value);
  if (depth > DEPTH_LIMIT) throw notJson(path, `nesting beyond ${DEPTH_LIMIT} levels`);
  if (Array.isArray(value)) {
    for (let index = 0; index < value.length; index++) {
      if (!(index in value)) throw notJson(`${path}/${index}`, 'a hole');
      assertPlain(value[index], `${path}/${index}`, depth + 1);
    }
    return;
  }
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) throw notJson(path, 'an instance of a class');
  if (Object.getOwnPropertySymbols(value).length > 0) throw notJson(path, 'a symbol key');
  for (const [key, item] of Object.entries(value)) {
    if (!key.isWellFormed()) throw notJson(path, 'a key with a lone surrogate');
    assertPlain(item, `${path}/${key}`, depth + 1);
  }
}

const notJson = (path: string, what: string) =>
  new HoldfastError(
    'value_not_json',
    `The value at ${path === '' ? 'the top' : path} is ${what}, which JSON cannot carry.`,
  );

/** Canonical JSON text (RFC 8785). Throws `value_not_json`. */
export function canonical(value: unknown): string {
  assertPlain(value, '', 0);
  const text = canonicalizeJcs(value);
  if (text === undefined) throw notJson('', 'undefined');
  return text;
}

/**
 * What `JSON.stringify` keeps of a value: `undefined` members dropped, `toJSON` applied, lone surrogates replaced.
 * Throws `value_not_json`.
 */
export function toJson(value: unknown): JsonValue {
  if (value === undefined) return null;
  let text: string | undefined;
  try {
    text = JSON.stringify(value);
  } catch (cause) {
    throw new HoldfastError('value_not_json', `The value cannot be written as JSON: ${String(cause)}`, { cause });
  }
  if (text === undefined) throw notJson('', typeof value);
  const parsed: unknown = JSON.parse(text, (_key, item: unknown) =>
    typeof item === 'string' ? item.toWellFormed() : item,
  );
  assertPlain(parsed, '', 0);
  return parsed;
}

/** `sha256:` and the hex SHA-256 of the UTF-8 bytes of a text. */
export const sha256 = (text: string): string => `sha256:${createHash('sha256').update(text, 'utf8').digest('hex')}`;

/** SHA-256 over canonical JSON. */
export const digestOf = (value: unknown): string => sha256(canonical(value));
