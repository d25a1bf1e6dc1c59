import { isObject, type JsonObject, type JsonValue } from '../json.js';
import type { Allowance } from './allowance.js';

/** Schemas that are applied to the same value, and those that are applied to what is in it. */
const ALSO = ['anyOf', 'oneOf', 'allOf', 'not', 'if', 'then', 'else'];
const OF_MEMBERS = ['additionalProperties', 'unevaluatedProperties', 'propertyNames'];
const OF_ITEMS = ['items', 'prefixItems', 'additionalItems', 'unevaluatedItems', 'contains'];

const DEPTH_LIMIT = 1000;
const WHAT = 'Holding the value against its schema';

/** What all values without members have in common. */
const PLAIN = {};

/**
 * Spends what it takes to hold a value against a JSON schema that somebody else wrote, without doing so: a short schema whose parts name
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
function schemaAt(root: JsonObject, ref: string): JsonValue | undefined {
  if (!/^#(?:\/|$)/.test(ref)) return undefined;
  let found: JsonValue | undefined = root;
  for (const part of ref.split('/').slice(1)) {
    const name = part.replaceAll('~1', '/').replaceAll('~0', '~');
    found = isObject(found) && Object.hasOwn(found, name) ? found[name] : undefined;
  }
  return found;
}
