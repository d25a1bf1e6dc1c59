import { hash } from 'node:crypto';
import { z } from 'zod';
import { HoldfastError } from './errors/errors.js';

export type JsonValue = null | boolean | number | string | readonly JsonValue[] | { readonly [key: string]: JsonValue };
export type JsonObject = { readonly [key: string]: JsonValue };

/** Text as a column of PostgreSQL keeps it: without NUL and lone surrogates. */
export const plainText = (text: string): string => text.replaceAll('\u0000', '\uFFFD').toWellFormed();

/** A name as it is given, which `plainText` would not change. */
export const nameText = z
  .string()
  .min(1)
  .max(200)
  .refine((text) => plainText(text) === text, 'expected a text without NUL and lone surrogates');

/** A name of an agent or a tenant. U+001F separates such names in the key of a queued segment. */
export const nameWithoutControls = nameText.refine(
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what it looks for
  (text) => !/[\u0000-\u001f\u007f]/.test(text),
  'expected a text without control characters',
);

export const idText = z.string().regex(/^[\x21-\x7e]{1,200}$/, 'expected at most 200 visible ASCII characters');

const DEPTH_LIMIT = 200;

const isPlainObject = (value: unknown): value is { readonly [key: string]: unknown } => {
  if (typeof value !== 'object' || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
};

export function isJson(value: unknown, depth = 0): value is JsonValue {
  if (value === null || typeof value === 'boolean' || typeof value === 'string') return true;
  if (typeof value === 'number') return Number.isFinite(value);
  if (depth > DEPTH_LIMIT) return false;
  if (Array.isArray(value)) return value.every((item) => isJson(item, depth + 1));
  return isPlainObject(value) && Object.values(value).every((item) => isJson(item, depth + 1));
}

/** A name as a JSON Pointer has it (RFC 6901). */
export const pointerToken = (key: string): string => key.replaceAll('~', '~0').replaceAll('/', '~1');

/** The name that a part of a JSON Pointer says. */
export const nameInPointer = (token: string): string => token.replaceAll('~1', '/').replaceAll('~0', '~');

/** A number of a text of JSON that is beyond 1.8e308. */
export class NumberTooLarge extends SyntaxError {}

/** What an error about a text of JSON adds where a number is too large: which one. */
export const tooLargeIn = (cause: unknown): string => (cause instanceof NumberTooLarge ? `: ${cause.message}` : '');

/** A number beyond the largest has an exponent of three digits, or so many digits that one of two is enough. */
const MAY_BE_HUGE = /[eE]\+?\d{3}|\d{209}/;

/**
 * The value of a text of JSON. Throws `SyntaxError`, and `NumberTooLarge` for a number that `JSON.parse` makes infinite: whatever
 * writes it again makes it null.
 */
export function parseJson(text: string): unknown {
  const value: unknown = JSON.parse(text);
  const at = MAY_BE_HUGE.test(text) ? hugeNumberIn(value) : null;
  if (at === null) return value;
  throw new NumberTooLarge(`the number at ${at === '' ? 'the top' : at} is beyond 1.8e308, which no number can hold`);
}

/** Where a value has an infinite number, at any depth; null: nowhere. */
function hugeNumberIn(root: unknown): string | null {
  const left: [string, unknown][] = [['', root]];
  for (let next = left.pop(); next !== undefined; next = left.pop()) {
    const [path, value] = next;
    if (typeof value === 'number' && !Number.isFinite(value)) return path;
    if (!isRecord(value)) continue;
    for (const [name, item] of Object.entries(value))
      if (typeof item === 'number' || isRecord(item)) left.push([`${path}/${pointerToken(name)}`, item]);
  }
  return null;
}

/** The value of a text of JSON; null: it is none. */
export function jsonOrNull(text: string): JsonValue {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/** Whether a value has members: an object or an array, of whatever kind. */
export const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null;

/** Whether a value is an object and no array. */
export const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const isJsonObject = (value: unknown): value is JsonObject => isPlainObject(value) && isJson(value);

/** The objects of a list; of what is no list, none. */
export const objectsIn = (value: JsonValue | undefined): readonly JsonObject[] =>
  Array.isArray(value) ? value.filter(isJsonObject) : [];

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

const notJson = (path: string, what: string) =>
  new HoldfastError(
    'value_not_json',
    `The value at ${path === '' ? 'the top' : path} is ${what}, which JSON cannot carry.`,
  );

interface Fault {
  readonly path: string;
  readonly what: string;
}

const at = (key: string | number, { path, what }: Fault): Fault => ({ path: `/${key}${path}`, what });

const here = (what: string): Fault => ({ path: '', what });

/** What a look at a value finds beside what is wrong with it. */
interface Seen {
  /** The names of all its objects stand in their order, and nothing writes itself: JSON.stringify writes it as it is to be. */
  inOrder: boolean;
}

/**
 * What of a value RFC 8785 cannot carry or libraries convert silently, and where: non-finite numbers, lone surrogates, holes,
 * `undefined`, `toJSON`, class instances, symbols, cycles and nesting beyond 200 levels. Null: nothing.
 */
function faultIn(value: unknown, seen: Seen, depth = 0): Fault | null {
  if (value === null || typeof value === 'boolean') return null;
  if (typeof value === 'string') return value.isWellFormed() ? null : here('a string with a lone surrogate');
  if (typeof value === 'number') return Number.isFinite(value) ? null : here(String(value));
  if (typeof value !== 'object') return here(typeof value);
  if (depth > DEPTH_LIMIT) return here(`nesting beyond ${DEPTH_LIMIT} levels`);
  if (Array.isArray(value)) return faultInItems(value, seen, depth + 1);
  return isPlainObject(value) ? faultInMembers(value, seen, depth + 1) : here('an instance of a class');
}

function faultInItems(items: readonly unknown[], seen: Seen, depth: number): Fault | null {
  if (Object.getPrototypeOf(items) !== Array.prototype) seen.inOrder = false;
  for (let index = 0; index < items.length; index++) {
    const fault = index in items ? faultIn(items[index], seen, depth) : here('a hole');
    if (fault !== null) return at(index, fault);
  }
  return null;
}

function faultInMembers(object: Readonly<Record<string, unknown>>, seen: Seen, depth: number): Fault | null {
  if (Object.getOwnPropertySymbols(object).length > 0) return here('a symbol key');
  let before = '';
  for (const key of Object.keys(object)) {
    if (!key.isWellFormed()) return here('a key with a lone surrogate');
    if (key < before) seen.inOrder = false;
    before = key;
    const fault = faultIn(object[key], seen, depth);
    if (fault !== null) return at(key, fault);
  }
  return null;
}

function plain(value: unknown, seen: Seen = { inOrder: true }): JsonValue {
  const fault = faultIn(value, seen);
  if (fault !== null) throw notJson(fault.path, fault.what);
  // Nothing is in it that is not JSON.
  return value as JsonValue;
}

/** What was canonical before has its names in order. */
function inOrder(names: string[]): string[] {
  for (let at = 1; at < names.length; at++) if ((names[at - 1] ?? '') > (names[at] ?? '')) return names.sort();
  return names;
}

/** Members in the order of their names' UTF-16 code units (RFC 8785, 3.2.3); JSON.stringify writes the rest as it wants it. */
function written(value: JsonValue): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(written).join(',')}]`;
  const object = value as JsonObject;
  let text = '';
  for (const key of inOrder(Object.keys(object)))
    text += `${text === '' ? '' : ','}${JSON.stringify(key)}:${written(object[key] ?? null)}`;
  return `{${text}}`;
}

/** Canonical JSON text (RFC 8785). Throws `value_not_json`. */
export function canonical(value: unknown): string {
  const seen: Seen = { inOrder: true };
  const json = plain(value, seen);
  return seen.inOrder ? JSON.stringify(json) : written(json);
}

/** How JSON.stringify writes half of a pair of surrogates. */
const LONE_SURROGATE = /\\u[dD][89a-fA-F]/;

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
  if (!LONE_SURROGATE.test(text)) return plain(JSON.parse(text));
  return plain(JSON.parse(text, (_key, item: unknown) => (typeof item === 'string' ? item.toWellFormed() : item)));
}

/** A value that is JSON as it stands; of any other what `toJson` makes of it. No one may change it afterwards. */
export const asJson = (value: unknown): JsonValue =>
  faultIn(value, { inOrder: true }) === null ? (value as JsonValue) : toJson(value);

/** Whether two values have the same canonical text. */
export function sameJson(a: JsonValue | undefined, b: JsonValue | undefined): boolean {
  if (a === b) return true;
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false;
  if (Array.isArray(a) !== Array.isArray(b)) return false;
  const [left, right] = [a as JsonObject, b as JsonObject];
  const names = Object.keys(left);
  return (
    names.length === Object.keys(right).length &&
    names.every((name) => Object.hasOwn(right, name) && sameJson(left[name], right[name]))
  );
}

/** `sha256:` and the hex SHA-256 of the UTF-8 bytes of a text. */
export const sha256 = (text: string): string => `sha256:${hash('sha256', text, 'hex')}`;

/** SHA-256 over canonical JSON. */
export const digestOf = (value: unknown): string => sha256(canonical(value));
