import { z } from 'zod';
import type { FieldError } from '../errors/errors.js';
import { pointerTo } from '../field-errors.js';
import { canonical, isObject, type JsonObject, type JsonValue } from '../json.js';
import { schemaAt } from './linear-schema.js';

/**
 * The check of values against a JSON Schema (2020-12) that someone else wrote, such as the bounds of a call. Each keyword means what the
 * standard says, with or without a `type` beside it; a keyword that nothing would check is refused.
 */

const TYPES: ReadonlySet<unknown> = new Set(['string', 'number', 'integer', 'boolean', 'null', 'object', 'array']);
const FORMATS: { readonly [format: string]: z.ZodType } = {
  ...{ email: z.email(), uri: z.url(), uuid: z.uuid(), hostname: z.hostname(), ipv4: z.ipv4(), ipv6: z.ipv6() },
  ...{ 'date-time': z.iso.datetime({ offset: true }), date: z.iso.date(), duration: z.iso.duration() },
  time: z.string().regex(/^(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d+)?(?:Z|[+-](?:[01]\d|2[0-3]):[0-5]\d)$/),
};
const isSchema = (value: JsonValue): boolean => typeof value === 'boolean' || isObject(value);
const isList = (value: JsonValue): value is JsonValue[] => Array.isArray(value) && value.length > 0;
const isName = (value: unknown): boolean => typeof value === 'string';

/** What the value of a keyword must be. Those of `NOTES` check nothing. */
const NUMBER = ['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum'];
const COUNT = [
  ...['minLength', 'maxLength', 'minItems', 'maxItems', 'minProperties', 'maxProperties'],
  ...['minContains', 'maxContains'],
];
const SCHEMA = ['additionalProperties', 'propertyNames', 'additionalItems', 'contains', 'not'];
const SCHEMAS = ['allOf', 'anyOf', 'oneOf', 'prefixItems'];
const NAMED = ['properties', '$defs', 'definitions'];
const NOTES = [
  ...['title', 'description', 'default', 'examples', 'deprecated', 'readOnly', 'writeOnly', '$schema', '$comment'],
  ...['$id', '$anchor', 'contentEncoding', 'contentMediaType', 'contentSchema'],
];

type Test = (value: JsonValue, root: JsonObject) => boolean;
const each = (names: readonly string[], test: Test) => names.map((name): [string, Test] => [name, test]);
const KEYWORDS: ReadonlyMap<string, Test> = new Map([
  ...each(NUMBER, (value) => typeof value === 'number'),
  ...each(COUNT, (value) => Number.isInteger(value) && Number(value) >= 0),
  ...each(SCHEMA, isSchema),
  ...each(SCHEMAS, (value) => isList(value) && value.every(isSchema)),
  ...each(NAMED, (value) => isObject(value) && Object.values(value).every(isSchema)),
  ...each(NOTES, () => true),
  ...each(['enum'], Array.isArray),
  ...each(['const'], () => true),
  ...each(['type'], (value) => (isList(value) ? value.every((one) => TYPES.has(one)) : TYPES.has(value))),
  ...each(['required'], (value) => Array.isArray(value) && value.every(isName)),
  ...each(['items'], (value) => isSchema(value) || (isList(value) && value.every(isSchema))),
  ...each(['uniqueItems'], (value) => typeof value === 'boolean'),
  ...each(['multipleOf'], (value) => typeof value === 'number' && value > 0),
  ...each(['format'], (value) => typeof value === 'string' && Object.hasOwn(FORMATS, value)),
  ...each(['$ref'], (value, root) => typeof value === 'string' && isSchema(schemaAt(root, value) ?? null)),
]);

/** The schemas in a schema, with their places. */
function partsOf(schema: JsonObject): readonly (readonly [JsonValue, string])[] {
  return Object.entries(schema).flatMap(([keyword, value]): [JsonValue, string][] => {
    const place = pointerTo([keyword]);
    if (SCHEMA.includes(keyword) || (keyword === 'items' && !Array.isArray(value))) return [[value, place]];
    if (SCHEMAS.includes(keyword) || keyword === 'items')
      return Array.isArray(value) ? value.map((one, index) => [one, `${place}/${index}`]) : [];
    if (!NAMED.includes(keyword) || !isObject(value)) return [];
    return Object.entries(value).map(([name, one]) => [one, `${place}${pointerTo([name])}`]);
  });
}

/** What keeps values from being checked against a schema, as what it `uses` or `has`; null: nothing. */
export function schemaProblem(schema: JsonObject, root = schema, at = ''): string | null {
  const where = at === '' ? '' : ` at ${at}`;
  for (const [keyword, value] of Object.entries(schema)) {
    if (keyword.startsWith('x-')) continue;
    const test = KEYWORDS.get(keyword);
    if (test === undefined) return `uses ${keyword}${where}, which is not taken`;
    if (!test(value, root))
      return `has a ${keyword}${where} that cannot be checked: ${JSON.stringify(value).slice(0, 100)}`;
  }
  for (const [part, place] of partsOf(schema)) {
    const problem = isObject(part) ? schemaProblem(part, root, `${at}${place}`) : null;
    if (problem !== null) return problem;
  }
  return null;
}

/** What is wrong with a value, with pointers into it; an empty list: it fits. */
export const valueProblems = (schema: JsonObject, value: JsonValue): readonly FieldError[] => {
  const details = new Map<string, string>();
  for (const { pointer, detail } of new SchemaCheck(schema).problems(schema, value, '')) {
    const before = details.get(pointer);
    details.set(pointer, before === undefined || before === detail ? detail : `${before}, and ${detail}`);
  }
  return [...details].slice(0, TOLD_MOST).map(([pointer, detail]) => ({ pointer, detail }));
};

/** How many of the places that are wrong are told. */
const TOLD_MOST = 100;

type Problems = readonly FieldError[];
const NONE: Problems = [];

class SchemaCheck {
  readonly #root: JsonObject;

  constructor(root: JsonObject) {
    this.#root = root;
  }

  problems(schema: JsonValue | undefined, value: JsonValue, at: string): Problems {
    if (schema === false) return [{ pointer: at, detail: 'is not taken' }];
    if (!isObject(schema)) return NONE;
    const here = ofValue(schema, value).map((detail) => ({ pointer: at, detail }));
    // Of a value of another type nothing else is said.
    if (here.length > 0 && !fitsType(schema['type'], value)) return here;
    return [
      ...here,
      ...(typeof schema['$ref'] === 'string' ? this.problems(schemaAt(this.#root, schema['$ref']), value, at) : NONE),
      ...this.#composed(schema, value, at),
      ...(Array.isArray(value) ? this.#ofItems(schema, value, at) : NONE),
      ...(isObject(value) ? this.#ofMembers(schema, value, at) : NONE),
    ];
  }

  #fits(schema: JsonValue, value: JsonValue): boolean {
    return this.problems(schema, value, '').length === 0;
  }

  #composed({ allOf, anyOf, oneOf, not }: JsonObject, value: JsonValue, at: string): Problems {
    const of = (schemas: JsonValue | undefined): readonly Problems[] =>
      listIn(schemas).map((one) => this.problems(one, value, at));
    const found = of(allOf).flat();
    if (anyOf !== undefined) found.push(...bestOf(of(anyOf), at));
    // Each is checked once: a second time would double with every level.
    const each = of(oneOf);
    if (oneOf !== undefined) found.push(...bestOf(each, at));
    const fitting = each.filter((problems) => problems.length === 0).length;
    if (fitting > 1) found.push({ pointer: at, detail: `fits ${fitting} schemas, and may fit only one of them` });
    if (not !== undefined && this.#fits(not, value)) found.push({ pointer: at, detail: 'is not taken' });
    return found;
  }

  #ofItems(schema: JsonObject, items: readonly JsonValue[], at: string): Problems {
    const { prefixItems, items: all, additionalItems, contains, minContains, maxContains } = schema;
    const first = listIn(Array.isArray(all) ? all : prefixItems);
    const rest = Array.isArray(all) ? additionalItems : all;
    const found = items.flatMap((item, index) => this.problems(first[index] ?? rest, item, `${at}/${index}`));
    if (contains === undefined) return found;
    const count = items.filter((item) => this.#fits(contains, item)).length;
    const least = typeof minContains === 'number' ? minContains : 1;
    if (count < least) found.push({ pointer: at, detail: `expected at least ${least} items of a kind, got ${count}` });
    if (typeof maxContains === 'number' && count > maxContains)
      found.push({ pointer: at, detail: `expected at most ${maxContains} items of a kind, got ${count}` });
    return found;
  }

  #ofMembers(schema: JsonObject, value: JsonObject, at: string): Problems {
    const { properties, additionalProperties, propertyNames, required } = schema;
    const known = isObject(properties) ? properties : {};
    const missing = listIn(required).filter((name) => !Object.hasOwn(value, String(name)));
    const found = missing.map((name) => ({ pointer: `${at}${pointerTo([String(name)])}`, detail: 'is missing' }));
    for (const [name, member] of Object.entries(value)) {
      const place = `${at}${pointerTo([name])}`;
      const isKnown = Object.hasOwn(known, name);
      if (!isKnown && additionalProperties === false) found.push({ pointer: place, detail: 'is not known here' });
      else found.push(...this.problems(isKnown ? known[name] : additionalProperties, member, place));
      found.push(...this.problems(propertyNames, name, place));
    }
    return found;
  }
}

/** What the schema that got furthest says; if none did, what each of them wants. Nothing where one of them fits. */
function bestOf(each: readonly Problems[], at: string): Problems {
  if (each.some((problems) => problems.length === 0)) return NONE;
  const inside = each.find((problems) => problems.every(({ pointer }) => pointer.length > at.length));
  if (inside !== undefined) return inside;
  const wanted = new Set(each.flatMap((problems) => problems.map(({ detail }) => detail)));
  return [{ pointer: at, detail: [...wanted].join(', or ') }];
}

const listIn = (value: JsonValue | undefined): readonly JsonValue[] => (Array.isArray(value) ? value : []);

const typeOf = (value: JsonValue): string => {
  if (value === null) return 'null';
  return Array.isArray(value) ? 'array' : typeof value;
};
const isOfType = (type: JsonValue, value: JsonValue): boolean =>
  type === 'integer' ? Number.isInteger(value) : type === typeOf(value);
const typesIn = (type: JsonValue | undefined): readonly JsonValue[] =>
  type === undefined ? [] : Array.isArray(type) ? type : [type];
const fitsType = (type: JsonValue | undefined, value: JsonValue): boolean =>
  type === undefined || typesIn(type).some((one) => isOfType(one, value));

/** The values of an `enum`, whose list every value is compared with. */
const known = new WeakMap<object, ReadonlySet<string>>();
function textsOf(among: readonly JsonValue[]): ReadonlySet<string> {
  const texts = known.get(among) ?? new Set(among.map(canonical));
  known.set(among, texts);
  return texts;
}

/** What a value by itself is not: nothing of what is in it. */
function ofValue(schema: JsonObject, value: JsonValue): readonly string[] {
  const { type, enum: among, const: only } = schema;
  if (!fitsType(type, value)) return [`expected ${typesIn(type).join(' or ')}, received ${typeOf(value)}`];
  const said: string[] = [];
  const text = among === undefined && only === undefined ? '' : canonical(value);
  if (Array.isArray(among) && !textsOf(among).has(text)) said.push(`expected one of ${[...textsOf(among)].join(', ')}`);
  if (only !== undefined && canonical(only) !== text) said.push(`expected ${canonical(only)}`);
  if (typeof value === 'number') said.push(...ofNumber(schema, value));
  if (typeof value === 'string') said.push(...ofText(schema, value));
  if (Array.isArray(value)) said.push(...ofSize(value.length, schema['minItems'], schema['maxItems'], 'items'));
  if (Array.isArray(value) && schema['uniqueItems'] === true && new Set(value.map(canonical)).size < value.length)
    said.push('expected no two items that are the same');
  if (isObject(value))
    said.push(...ofSize(Object.keys(value).length, schema['minProperties'], schema['maxProperties'], 'members'));
  return said;
}

function ofNumber(schema: JsonObject, value: number): readonly string[] {
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf } = schema;
  const isStep = (step: number): boolean => {
    const times = value / step;
    return Math.abs(times - Math.round(times)) <= 2 * Number.EPSILON * Math.abs(times);
  };
  return [
    ...(typeof minimum === 'number' && value < minimum ? [`expected at least ${minimum}`] : []),
    ...(typeof maximum === 'number' && value > maximum ? [`expected at most ${maximum}`] : []),
    ...(typeof exclusiveMinimum === 'number' && value <= exclusiveMinimum ? [`expected over ${exclusiveMinimum}`] : []),
    ...(typeof exclusiveMaximum === 'number' && value >= exclusiveMaximum
      ? [`expected below ${exclusiveMaximum}`]
      : []),
    ...(typeof multipleOf === 'number' && !isStep(multipleOf) ? [`expected a multiple of ${multipleOf}`] : []),
  ];
}

function ofText({ minLength, maxLength, format }: JsonObject, value: string): readonly string[] {
  const check = typeof format === 'string' && Object.hasOwn(FORMATS, format) ? FORMATS[format] : undefined;
  return [
    ...ofSize([...value].length, minLength, maxLength, 'characters'),
    ...(check === undefined || check.safeParse(value).success ? [] : [`expected the format ${String(format)}`]),
  ];
}

const ofSize = (
  size: number,
  least: JsonValue | undefined,
  most: JsonValue | undefined,
  what: string,
): readonly string[] => [
  ...(typeof least === 'number' && size < least ? [`expected at least ${least} ${what}, got ${size}`] : []),
  ...(typeof most === 'number' && size > most ? [`expected at most ${most} ${what}, got ${size}`] : []),
];
