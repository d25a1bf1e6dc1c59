import { createHash } from 'node:crypto';
import canonicalizeJcs from 'canonicalize';
import { z } from 'zod';
import { HoldfastError } from './errors.js';

export type JsonValue = null | boolean | number | string | readonly JsonValue[] | { readonly [key: string]: JsonValue };
export type JsonObject = { readonly [key: string]: JsonValue };

/** Text as a column of PostgreSQL keeps it: without NUL and lone surrogates. */
export const plainText = (text: string): string => text.replaceAll('\u0000', '\uFFFD').toWellFormed();

/** A name as it is given: what `plainText` would change is none. */
export const nameText = z
  .string()
  .min(1)
  .max(200)
  .refine((text) => plainText(text) === text, 'expected a text without NUL and lone surrogates');

const DEPTH_LIMIT = 200;

const isPlainObject = (value: unknown): value is { readonly [key: string]: unknown } => {
  if (typeof value !== 'object' || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
};

function isJson(value: unknown, depth = 0): value is JsonValue {
  if (value === null || typeof value === 'boolean' || typeof value === 'string') return true;
  if (typeof value === 'number') return Number.isFinite(value);
  if (depth > DEPTH_LIMIT) return false;
  if (Array.isArray(value)) return value.every((item) => isJson(item, depth + 1));
  return isPlainObject(value) && Object.values(value).every((item) => isJson(item, depth + 1));
}

const isJsonObject = (value: unknown): value is JsonObject => isPlainObject(value) && isJson(value);

const nameOf = (value: unknown): string => (value === null ? 'null' : Array.isArray(value) ? 'array' : typeof value);
const expected =
  (what: string) =>
  ({ input }: { readonly input?: unknown }): string =>
    `Invalid input: expected ${what}, received ${nameOf(input)}`;

/**
 * Any JSON value; what comes in over a border is parsed by it. It gives the value itself: a copy made by zod would be without
 * the key `__proto__`, and an event that is read would not be the one that was hashed.
 */
export const jsonValue: z.ZodType<JsonValue> = z
  .custom<JsonValue>((value) => isJson(value), { error: expected('a JSON value') })
  .meta({ id: 'JsonValue' });
export const jsonObject: z.ZodType<JsonObject> = z
  .custom<JsonObject>(isJsonObject, { error: expected('a JSON object') })
  .meta({ type: 'object' });

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
  if (!isPlainObject(value)) throw notJson(path, 'an instance of a class');
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
