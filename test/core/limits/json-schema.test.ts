import { Ajv2020 } from 'ajv/dist/2020.js';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { JsonObject, JsonValue } from '../../../src/core/json.js';
import { schemaProblem, valueProblems } from '../../../src/core/limits/json-schema.js';

const ajv = new Ajv2020({ strict: false, validateFormats: false, ownProperties: true });
const fits = (schema: JsonObject, value: JsonValue): boolean => valueProblems(schema, value).length === 0;

const small = fc.integer({ min: 0, max: 4 });
const scalar = fc.oneof(
  fc.constantFrom<JsonValue>(null, true, false, 1.5, '', 'a', 'ab', 'é'),
  fc.integer({ min: -3, max: 6 }),
);
const names = fc.constantFrom('a', 'b', 'constructor');
const membersOf = (value: fc.Arbitrary<JsonValue>) =>
  fc.array(fc.tuple(names, value), { maxLength: 3 }).map((members): JsonValue => Object.fromEntries(members));
const values = fc.letrec<{ value: JsonValue }>((tie) => ({
  value: fc.oneof({ depthSize: 'small' }, scalar, fc.array(tie('value'), { maxLength: 3 }), membersOf(tie('value'))),
})).value;
const TYPES = ['string', 'number', 'integer', 'boolean', 'null', 'object', 'array'];

type Keyword = [string, JsonValue];
const keyword = (name: string, value: fc.Arbitrary<JsonValue>): fc.Arbitrary<Keyword> =>
  value.map((made): Keyword => [name, made]);
const someTypes = fc.uniqueArray(fc.constantFrom(...TYPES), { minLength: 1, maxLength: 3 });
const plain = [
  keyword('type', fc.oneof(fc.constantFrom(...TYPES), someTypes)),
  keyword('enum', fc.uniqueArray(scalar, { minLength: 1, maxLength: 3 })),
  keyword('const', scalar),
  keyword('multipleOf', fc.constantFrom(2, 0.5)),
  keyword('uniqueItems', fc.boolean()),
  keyword('required', fc.uniqueArray(names, { maxLength: 2 })),
  ...['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum'].map((name) => keyword(name, small)),
  ...['minLength', 'maxLength', 'minItems', 'maxItems'].map((name) => keyword(name, small)),
  ...['minProperties', 'maxProperties', 'minContains', 'maxContains'].map((name) => keyword(name, small)),
];
const ONE = ['items', 'contains', 'additionalProperties', 'propertyNames', 'not'];

/** A schema of at most four keywords, each of them with schemas of one level less. */
function schemaOf(levels: number): fc.Arbitrary<JsonObject> {
  const below = levels === 0 ? fc.boolean() : fc.oneof(fc.boolean(), schemaOf(levels - 1));
  const list = fc.array(below, { minLength: 1, maxLength: 2 });
  const named = fc.array(fc.tuple(names, below), { maxLength: 2 }).map((all) => Object.fromEntries(all));
  const nested = [
    ...ONE.map((name) => keyword(name, below)),
    ...['allOf', 'anyOf', 'oneOf', 'prefixItems'].map((name) => keyword(name, list)),
    keyword('properties', named),
  ];
  const any = fc.oneof(fc.oneof(...plain), fc.oneof(...nested));
  return fc.array(any, { maxLength: 4 }).map((all): JsonObject => {
    const { prefixItems, ...schema } = Object.fromEntries(all);
    // With both, Ajv lets an empty list contain something.
    return prefixItems === undefined || 'contains' in schema ? schema : { ...schema, prefixItems };
  });
}

describe('a value fits a JSON schema', () => {
  it('exactly where another validator says so', () => {
    let fitting = 0;
    fc.assert(
      fc.property(schemaOf(2), values, (schema, value) => {
        expect(schemaProblem(schema)).toBeNull();
        const expected = ajv.validate(schema, value);
        expect(fits(schema, value)).toBe(expected);
        if (expected) fitting++;
      }),
      { seed: 7, numRuns: 800 },
    );
    expect(fitting).toBeGreaterThan(100);
  });

  it('by keywords without a type beside them, and beside others', () => {
    expect(valueProblems({ properties: { cents: { maximum: 5000 } } }, { cents: 5001 })).toEqual([
      { pointer: '/cents', detail: 'expected at most 5000' },
    ]);
    expect(fits({ type: 'array', maxItems: 1 }, [1, 2])).toBe(false);
    expect(fits({ type: 'object', required: ['to'] }, {})).toBe(false);
    expect(fits({ enum: [1, 9], maximum: 5 }, 9)).toBe(false);
    const $defs = { money: { minimum: 0 } };
    expect(fits({ $defs, properties: { a: { $ref: '#/$defs/money', maximum: 5 } } }, { a: 9 })).toBe(false);
    expect(fits({ properties: { a: { default: 1 } }, required: ['a'] }, {})).toBe(false);
    expect(fits({ format: 'date' }, '2026-02-30')).toBe(false);
    const proto = JSON.parse('{"__proto__": 1}') as JsonObject;
    expect(fits({ additionalProperties: false }, proto)).toBe(false);
    expect(fits({ properties: proto, additionalProperties: { type: 'string' } }, { a: 1 })).toBe(false);
  });

  it('whose parts nest without work that doubles', () => {
    let schema: JsonObject = { type: 'string' };
    for (let level = 0; level < 60; level++) schema = { oneOf: [schema, false] };
    expect(fits(schema, 1)).toBe(false);
  });
});

describe('a schema is refused', () => {
  it.each([
    [{ maximum: '5' }, 'has a maximum that cannot be checked: "5"'],
    [{ properties: { a: { maxmum: 5 } } }, 'uses maxmum at /properties/a, which is not taken'],
    [{ items: { pattern: 'a' } }, 'uses pattern at /items, which is not taken'],
    [{ anyOf: [{ type: 'text' }] }, 'has a type at /anyOf/0 that cannot be checked: "text"'],
    [{ $ref: '#/$defs/none' }, 'has a $ref that cannot be checked: "#/$defs/none"'],
    [{ $ref: 'https://example.com/a' }, 'has a $ref that cannot be checked: "https://example.com/a"'],
    [{ exclusiveMaximum: true, maximum: 5 }, 'has a exclusiveMaximum that cannot be checked: true'],
    [{ if: {} }, 'uses if, which is not taken'],
    [{ format: 'secret' }, 'has a format that cannot be checked: "secret"'],
  ])('where a part of it would not be checked: %j', (schema, problem) => {
    expect(schemaProblem(schema)).toBe(problem);
  });

  it('but not for a property of such a name, and for notes', () => {
    const properties = { pattern: { type: 'string' }, if: true };
    expect(schemaProblem({ title: 'A', 'x-order': 1, default: {}, properties })).toBeNull();
  });
});
