import { z } from 'zod';
import { HoldfastError } from '../errors/errors.js';
import { canonical, isObject, type JsonObject, type JsonValue, nameText, plainText, toJson } from '../json.js';
import { namesOf, pointerTo, type StateOp, stateOp } from './agent-state.js';
import { type MemorySpace, spaceName } from './memory-space.js';
import { MEMORY_LIMITS, RECALL_WAYS } from './tool-memory.js';

/** What a call may ask of memory, checked: it comes from tools, and often from models. */

export const memoryKey = nameText.max(MEMORY_LIMITS.text);

const stated = z.strictObject({ space: spaceName, key: memoryKey, version: z.int().min(0) });
const derivedFrom = z.array(stated).max(MEMORY_LIMITS.read).optional();
const version = z.int().min(1).optional();

/** Words to look for. */
export const queryText = z
  .string()
  .min(1)
  .max(MEMORY_LIMITS.text)
  .refine((text) => plainText(text) === text, 'expected a text without NUL and lone surrogates');

export const writeShape = z.strictObject({ key: memoryKey.optional(), derivedFrom });
export const changeShape = z.strictObject({ changes: z.array(stateOp).min(1).max(1000), version, derivedFrom });
export const queryShape = z.strictObject({
  key: memoryKey.optional(),
  query: queryText.optional(),
  match: z.enum(['all', 'any']).default('all'),
  by: z.enum(RECALL_WAYS).optional(),
  limit: z.int().min(1).max(MEMORY_LIMITS.documents).default(10),
});

const invalid = (detail: string): HoldfastError => new HoldfastError('memory_invalid', detail);

/** Parses what a call gives. Throws `memory_invalid`. */
export function parsedAs<S extends z.ZodType>(shape: S, what: string, value: unknown): z.output<S> {
  const parsed = shape.safeParse(value);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  const where = issue?.path.map(String).join('.') || 'it';
  throw invalid(`${what} is not valid: ${where}: ${issue?.message ?? ''}.`);
}

/** What is remembered, as JSON. Throws `memory_invalid`. */
export function memoryValue(value: unknown): JsonObject {
  let json: JsonValue;
  try {
    json = toJson(value);
  } catch (error) {
    throw invalid(`The document cannot be kept: ${error instanceof Error ? error.message : String(error)}`);
  }
  if (!isObject(json)) throw invalid('A document must be a JSON object.');
  return json;
}

/** The changes that put members of one value into another, and leave the others as they are. */
export function additionsOf(before: JsonObject, value: JsonObject, at: readonly string[] = []): StateOp[] {
  return Object.entries(value).flatMap(([name, is]): StateOp[] => {
    const was = Object.hasOwn(before, name) ? before[name] : undefined;
    const names = [...at, name];
    if (isObject(was) && isObject(is)) return additionsOf(was, is, names);
    if (was !== undefined && canonical(was) === canonical(is)) return [];
    return [{ op: 'set', path: pointerTo(names), value: is }];
  });
}

/** Refuses changes that a document cannot take. Throws `memory_invalid`. */
export function assertChanges(value: JsonObject, ops: readonly StateOp[]): void {
  const sizeBytes = bytesOf('The changes', [...ops]);
  if (sizeBytes > MEMORY_LIMITS.documentBytes)
    throw invalid(`The changes have ${sizeBytes} bytes; their bound is ${MEMORY_LIMITS.documentBytes}.`);
  for (const { path } of ops) assertPath(value, path);
}

/** Bytes of a value as JSON. Throws `memory_invalid` for what JSON cannot carry, such as a sum beyond its numbers. */
function bytesOf(what: string, value: JsonValue): number {
  try {
    return Buffer.byteLength(canonical(value));
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw invalid(`${what} cannot be kept: ${why.length <= 300 ? why : `${why.slice(0, 300)}…`}`);
  }
}

function assertPath(value: JsonObject, path: string): void {
  let names: readonly string[];
  try {
    names = namesOf(path);
  } catch (error) {
    throw invalid(error instanceof Error ? error.message : String(error));
  }
  if (names.length > MEMORY_LIMITS.depth)
    throw invalid(`A path has ${names.length} names; at most ${MEMORY_LIMITS.depth} are taken.`);
  let at: JsonValue | undefined = value;
  for (const [depth, name] of names.entries()) {
    if (Array.isArray(at))
      throw invalid(
        `${pointerTo(names.slice(0, depth))} is a list: append to it, or set the whole of it, in place of ${path}.`,
      );
    at = isObject(at) && Object.hasOwn(at, name) ? at[name] : undefined;
  }
}

/** Refuses a document that its space does not take. Throws `memory_invalid`. */
export function assertDocument({ name, problemOf }: MemorySpace, key: string, value: JsonObject): void {
  const what = `The document ${JSON.stringify(key)} of ${name}`;
  const sizeBytes = bytesOf(what, value);
  if (sizeBytes > MEMORY_LIMITS.documentBytes)
    throw invalid(`${what} would have ${sizeBytes} bytes; its bound is ${MEMORY_LIMITS.documentBytes}.`);
  const problem = problemOf(value);
  if (problem !== null) throw invalid(`${what} would not fit its schema: ${problem}.`);
}

/** Refuses a change that makes the history of a document too long to be kept with it. Throws `memory_invalid`. */
export function assertShortHistory(key: string, historyBytes: number): void {
  if (historyBytes <= MEMORY_LIMITS.historyBytes) return;
  throw invalid(
    `The document ${JSON.stringify(key)} would have ${historyBytes} bytes with its history; their bound is ${MEMORY_LIMITS.historyBytes}. Remember what it says under another key, and forget it.`,
  );
}

/** Refuses one change more than a document may have. Throws `memory_invalid`. */
export function assertFewChanges(key: string, version: number): void {
  if (version <= MEMORY_LIMITS.changes) return;
  throw invalid(
    `The document ${JSON.stringify(key)} has had its ${MEMORY_LIMITS.changes} changes. Remember what it says under another key, and forget it.`,
  );
}
