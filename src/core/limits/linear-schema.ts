import { z } from 'zod';
import { isObject, type JsonObject, type JsonValue } from '../json.js';
import type { Allowance } from './allowance.js';
import { linearPattern, PATTERN_SIZE, patternProblem, patternSize } from './linear-pattern.js';

/** The work of compiling one step of a pattern. */
const COMPILED_STEP = 20;
/** A pattern compares so many of its steps with characters in the time of one visit of a schema. */
const COMPARED_STEPS = 16;

/**
 * The check of a JSON schema that somebody else wrote. Zod would run its patterns in the engine of JavaScript, which some hold for
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
