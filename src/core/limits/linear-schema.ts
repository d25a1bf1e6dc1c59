import { z } from 'zod';
import { isObject, type JsonObject, type JsonValue, nameInPointer } from '../json.js';
import type { Allowance } from './allowance.js';
import { linearPattern, PATTERN_SIZE, patternProblem, patternSize } from './linear-pattern.js';

/** The work of compiling one step of a pattern. */
const COMPILED_STEP = 20;
/** A pattern compares so many of its steps with characters in the time of one visit of a schema. */
const COMPARED_STEPS = 16;

/**
 * The check of a JSON schema that someone else wrote. Zod would run its patterns in the engine of JavaScript, which some hold for
 * ever. So they are taken out, and those of texts below `properties` and `items` run in linear time. A pattern elsewhere, and one
 * that RE2 does not take, is left to the tool itself. Patterns spend the allowance, now and in each check. Throws
 * `payload_too_large`, and what zod throws for a schema that it cannot read.
 */
export function schemaInLinearTime(schema: JsonObject, allowance: Allowance): z.ZodType {
  const found: Pattern[] = [];
  collect(schema, [], found, allowance);
  const bare = withoutPatterns(schema) as Parameters<typeof z.fromJSONSchema>[0];
  return z.fromJSONSchema(bare).superRefine((value, context) => {
    for (const { path, source, size, test } of found)
      for (const [at, text] of textsAt(value, path, [])) {
        allowance.work(
          Math.ceil((size * text.length) / COMPARED_STEPS),
          'Comparing the value with the patterns of its schema',
        );
        if (!test(text)) context.addIssue({ code: 'custom', path: [...at], message: `expected to match ${source}` });
      }
  });
}

/** Stands for every item of a list. */
const ITEMS = Symbol('items');
type Path = readonly (string | typeof ITEMS)[];

interface Pattern {
  readonly path: Path;
  readonly source: string;
  readonly size: number;
  readonly test: (text: string) => boolean;
}

function collect(schema: JsonValue | undefined, path: Path, found: Pattern[], allowance: Allowance): void {
  if (!isObject(schema)) return;
  const { pattern, properties, items } = schema;
  if (typeof pattern === 'string') {
    const size = patternSize(pattern);
    if (size <= PATTERN_SIZE) allowance.work(size * COMPILED_STEP, 'Compiling the patterns of the schema');
    if (patternProblem(pattern) === null)
      found.push({ path, source: pattern, size, test: linearPattern(pattern).test });
  }
  if (isObject(properties))
    for (const [name, inner] of Object.entries(properties)) collect(inner, [...path, name], found, allowance);
  collect(items, [...path, ITEMS], found, allowance);
}

/** Keywords whose members are names of a user, each with a schema. */
const MAPS = new Set(['properties', '$defs', 'definitions', 'dependentSchemas']);
/** Keywords whose values are no schemas. */
const VALUES = new Set(['const', 'enum', 'default', 'examples', 'required']);

function withoutPatterns(schema: JsonValue): JsonValue {
  if (Array.isArray(schema)) return schema.map(withoutPatterns);
  if (!isObject(schema)) return schema;
  const gone = 'patternProperties' in schema ? ['pattern', 'patternProperties', 'additionalProperties'] : ['pattern'];
  const members = Object.entries(schema).filter(([key]) => !gone.includes(key));
  return Object.fromEntries(
    members.map(([key, item]) => {
      if (VALUES.has(key)) return [key, item];
      if (!MAPS.has(key) || !isObject(item)) return [key, withoutPatterns(item)];
      return [key, Object.fromEntries(Object.entries(item).map(([name, inner]) => [name, withoutPatterns(inner)]))];
    }),
  );
}

function textsAt(
  value: unknown,
  [first, ...rest]: Path,
  at: readonly (string | number)[],
): [readonly (string | number)[], string][] {
  if (first === undefined) return typeof value === 'string' ? [[at, value]] : [];
  if (first === ITEMS)
    return Array.isArray(value) ? value.flatMap((item, index) => textsAt(item, rest, [...at, index])) : [];
  return isObject(value) && Object.hasOwn(value, first) ? textsAt(value[first], rest, [...at, first]) : [];
}

/** Schemas that are applied to the same value, and those that are applied to what is in it. */
const ALSO = ['anyOf', 'oneOf', 'allOf', 'not', 'if', 'then', 'else'];
const OF_MEMBERS = ['additionalProperties', 'unevaluatedProperties', 'propertyNames'];
const OF_ITEMS = ['items', 'prefixItems', 'additionalItems', 'unevaluatedItems', 'contains'];

const DEPTH_LIMIT = 1000;
const WHAT = 'Holding the value against its schema';

/** What all values without members have in common. */
const PLAIN = {};

/**
 * Spends what it takes to hold a value against a JSON schema that someone else wrote, without doing so: a short schema whose parts name
 * each other twice takes twice the work with every part. Throws `payload_too_large`, also for a schema that never ends.
 */
export function spendSchemaWork(schema: JsonObject, value: JsonValue, allowance: Allowance): void {
  const known = new Map<JsonObject, Map<object, number>>();
  let visits = 0;

  function workOf(one: JsonObject, at: JsonValue, depth: number): number {
    const places = known.get(one) ?? new Map<object, number>();
    known.set(one, places);
    const place = typeof at === 'object' && at !== null ? at : PLAIN;
    const before = places.get(place);
    if (before !== undefined) return before;
    // Who comes here again before it is known goes round and round.
    places.set(place, Number.POSITIVE_INFINITY);
    visits++;
    allowance.work(depth > DEPTH_LIMIT ? Number.POSITIVE_INFINITY : 1, WHAT);
    let work = 1;
    for (const [inner, below] of partsOf(one, at, schema)) work += workOf(inner, below, depth + 1);
    places.set(place, work);
    return work;
  }

  const work = workOf(schema, value, 0);
  allowance.work(work - visits, WHAT);
}

/** The schemas that are part of one, each with the value that it is applied to. */
function* partsOf(one: JsonObject, value: JsonValue, root: JsonObject): Generator<[JsonObject, JsonValue]> {
  for (const key of ALSO) yield* each(one[key], [value]);
  const { $ref, dependentSchemas, properties, patternProperties } = one;
  if (typeof $ref === 'string') yield* each(schemaAt(root, $ref), [value]);
  if (isObject(dependentSchemas)) for (const inner of Object.values(dependentSchemas)) yield* each(inner, [value]);
  if (Array.isArray(value)) for (const key of OF_ITEMS) yield* each(one[key], value);
  if (!isObject(value)) return;
  const members = Object.values(value);
  for (const key of OF_MEMBERS) yield* each(one[key], members);
  if (isObject(patternProperties)) for (const inner of Object.values(patternProperties)) yield* each(inner, members);
  if (isObject(properties))
    for (const [name, inner] of Object.entries(properties))
      if (Object.hasOwn(value, name)) yield* each(inner, [value[name] ?? null]);
}

function* each(schemas: JsonValue | undefined, values: readonly JsonValue[]): Generator<[JsonObject, JsonValue]> {
  for (const inner of [schemas ?? null].flat()) if (isObject(inner)) for (const value of values) yield [inner, value];
}

/** The schema that a `$ref` names; undefined: it is elsewhere. */
export function schemaAt(root: JsonObject, ref: string): JsonValue | undefined {
  if (!/^#(?:\/|$)/.test(ref)) return undefined;
  let found: JsonValue | undefined = root;
  for (const part of ref.split('/').slice(1)) {
    const name = nameInPointer(part);
    found = isObject(found) && Object.hasOwn(found, name) ? found[name] : undefined;
  }
  return found;
}
