import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import canonicalize from 'canonicalize';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { asJson, canonical, NumberTooLarge, parseJson, sameJson, toJson } from '../../src/core/json.js';

const { pairs } = z
  .object({ pairs: z.array(z.object({ name: z.string(), input: z.string(), output: z.string() })) })
  .parse(JSON.parse(readFileSync(join(import.meta.dirname, '../vectors/json-canonicalization.json'), 'utf8')));

describe('a text of JSON', () => {
  it.each([
    ['{"n":1e999}', '/n'],
    ['[0, {"a": {"b": -1E+400}}]', '/1/a/b'],
    ['{"a/b":[1e999]}', '/a~1b/0'],
    ['1e0309', 'the top'],
    [`[${'9'.repeat(400)}]`, '/0'],
    [`{"n":${'9'.repeat(250)}e99}`, '/n'],
  ])('names a number that is beyond all numbers: %.20s', (text, at) => {
    expect(() => parseJson(text)).toThrow(NumberTooLarge);
    expect(() => parseJson(text)).toThrow(`the number at ${at} is beyond 1.8e308`);
  });

  it.each(['1e308', '0.1e-999', '"1e999"', '{"1e999":1}', `0.${'1'.repeat(400)}`, '[]'])(
    'is read as it is: %.20s',
    (text) => {
      expect(parseJson(text)).toEqual(JSON.parse(text));
    },
  );

  it('is none', () => {
    expect(() => parseJson('{')).toThrow(SyntaxError);
  });
});

describe('canonical JSON', () => {
  it.each(pairs)('is the published one: $name', ({ input, output }) => {
    expect(canonical(JSON.parse(input))).toBe(output);
  });

  it('follows RFC 8785', () => {
    // The examples of the RFC: numbers as ECMAScript writes them, keys by UTF-16 code units, escapes as short as can be.
    expect(canonical({ numbers: [Number('333333333.33333329'), 1e30, 4.5, 2e-3, 1e-27] })).toBe(
      '{"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27]}',
    );
    expect(canonical({ '\u20ac': 1, '\r': 2, '\ufb33': 3, '1': 4, '\ud83d\ude00': 5, '\u0080': 6, '\u00f6': 7 })).toBe(
      '{"\\r":2,"1":4,"\u0080":6,"\u00f6":7,"\u20ac":1,"\ud83d\ude00":5,"\ufb33":3}',
    );
    expect(canonical({ z: -0, text: '\u20ac$\u000f\nA\'B"\\\\"/' })).toBe(
      `{"text":"\u20ac$\\u000f\\nA'B\\"\\\\\\\\\\"/","z":0}`,
    );
  });

  /** RFC 8785, appendix B: the bits of a number, and how it is written; null: it cannot be. */
  it.each([
    ['0000000000000000', '0'],
    ['8000000000000000', '0'],
    ['0000000000000001', '5e-324'],
    ['8000000000000001', '-5e-324'],
    ['7fefffffffffffff', '1.7976931348623157e+308'],
    ['ffefffffffffffff', '-1.7976931348623157e+308'],
    ['4340000000000000', '9007199254740992'],
    ['c340000000000000', '-9007199254740992'],
    ['4430000000000000', '295147905179352830000'],
    ['7fffffffffffffff', null],
    ['7ff0000000000000', null],
    ['44b52d02c7e14af5', '9.999999999999997e+22'],
    ['44b52d02c7e14af6', '1e+23'],
    ['44b52d02c7e14af7', '1.0000000000000001e+23'],
    ['444b1ae4d6e2ef4e', '999999999999999700000'],
    ['444b1ae4d6e2ef4f', '999999999999999900000'],
    ['444b1ae4d6e2ef50', '1e+21'],
    ['3eb0c6f7a0b5ed8c', '9.999999999999997e-7'],
    ['3eb0c6f7a0b5ed8d', '0.000001'],
    ['41b3de4355555553', '333333333.3333332'],
    ['41b3de4355555554', '333333333.33333325'],
    ['41b3de4355555555', '333333333.3333333'],
    ['41b3de4355555556', '333333333.3333334'],
    ['41b3de4355555557', '333333333.33333343'],
    ['becbf647612f3696', '-0.0000033333333333333333'],
    ['43143ff3c1cb0959', '1424953923781206.2'],
  ])('writes the number %s as %s', (bits, text) => {
    const number = Buffer.from(bits, 'hex').readDoubleBE();
    if (text === null) expect(() => canonical(number)).toThrow(expect.objectContaining({ code: 'value_not_json' }));
    else expect(canonical([number])).toBe(`[${text}]`);
  });

  it.each([
    ['NaN', Number.NaN],
    ['Infinity', { a: [Number.POSITIVE_INFINITY] }],
    ['undefined', { a: undefined }],
    ['a lone surrogate', { a: '\ud800' }],
    ['a hole', Object.assign([1], { 2: 2 })],
    ['a date', { at: new Date(0) }],
    ['a map', new Map()],
    ['a bigint', 1n],
    ['a function', { f: () => 1 }],
    ['a symbol key', { [Symbol('s')]: 1 }],
  ])('refuses %s', (_name, value) => {
    expect(() => canonical(value)).toThrow(expect.objectContaining({ code: 'value_not_json' }));
  });

  it('refuses a cycle and nesting without end', () => {
    const cycle: { self?: unknown } = {};
    cycle.self = cycle;
    expect(() => canonical(cycle)).toThrow(expect.objectContaining({ code: 'value_not_json' }));
    let deep: unknown = 1;
    for (let level = 0; level < 500; level++) deep = [deep];
    expect(() => canonical(deep)).toThrow(expect.objectContaining({ code: 'value_not_json' }));
  });

  it('keeps keys like __proto__ and constructor as data', () => {
    const value: unknown = JSON.parse('{"__proto__":{"a":1},"constructor":2}');
    expect(canonical(value)).toBe('{"__proto__":{"a":1},"constructor":2}');
  });

  it('says the same of a value that went through JSON', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const text = canonical(toJson(value));
        return canonical(JSON.parse(text)) === text;
      }),
    );
  });

  it('is what another implementation of RFC 8785 writes', () => {
    const text = fc.string({ unit: 'binary' });
    const value = fc.oneof(
      fc.jsonValue(),
      fc.dictionary(text, fc.oneof(text, fc.double({ noNaN: true })), { noNullPrototype: true }),
    );
    fc.assert(
      fc.property(value, (any) => {
        const json = toJson(any);
        return canonical(json) === canonicalize(json);
      }),
      { numRuns: 500 },
    );
  });

  it('writes what is in order, what is not, and what would write itself, the same way', () => {
    class Row extends Array {
      toJSON() {
        return 'another text';
      }
    }
    expect(canonical({ a: { 1: 1, 10: 2, 9: 3 }, b: [] })).toBe('{"a":{"1":1,"10":2,"9":3},"b":[]}');
    expect(canonical({ b: 1, a: Row.of(1, 2) })).toBe('{"a":[1,2],"b":1}');
    expect(canonical(Row.of({ a: 1 }))).toBe('[{"a":1}]');
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        // Read from canonical JSON, its names are in order but for those that are numbers.
        const back: unknown = JSON.parse(canonical(value));
        return canonical(back) === canonicalize(value) && canonical([back, { b: 1, a: 2 }]).endsWith(',{"a":2,"b":1}]');
      }),
    );
  });

  it('makes JSON of what tools and models give', () => {
    expect(toJson(undefined)).toBeNull();
    expect(toJson({ a: undefined, at: new Date(0), text: '\ud800x' })).toEqual({
      at: '1970-01-01T00:00:00.000Z',
      text: '\ufffdx',
    });
    expect(() => toJson(1n)).toThrow(expect.objectContaining({ code: 'value_not_json' }));
  });

  it('leaves what is JSON as it stands', () => {
    const value = JSON.parse('{"b":[{"__proto__":1}],"a":"\u20ac"}');
    expect(asJson(value)).toBe(value);
    const member = fc.oneof(fc.jsonValue(), fc.constant(undefined), fc.date({ noInvalidDate: true }), fc.string());
    fc.assert(
      fc.property(fc.dictionary(fc.string(), member), (any) => canonical(asJson(any)) === canonical(toJson(any))),
    );
    expect(asJson({ a: undefined, text: '\ud800x' })).toEqual({ text: '\ufffdx' });
    expect(() => asJson({ a: 1n })).toThrow(expect.objectContaining({ code: 'value_not_json' }));
  });

  it('tells whether two values have the same canonical text', () => {
    const few = fc.constantFrom('a', 'b', '__proto__', '0');
    const { tree } = fc.letrec<{ tree: unknown }>((tie) => ({
      tree: fc.oneof(
        { maxDepth: 3 },
        fc.constantFrom(null, true, 0, -0, 1, '', 'a', '0'),
        fc.array(tie('tree'), { maxLength: 2 }),
        fc.dictionary(few, tie('tree'), { maxKeys: 2 }),
      ),
    }));
    fc.assert(
      fc.property(tree, tree, (a, b) => {
        const [left, right] = [toJson(a), toJson(b)];
        const reversed = JSON.parse(JSON.stringify(left), (_key, item) =>
          typeof item === 'object' && item !== null && !Array.isArray(item)
            ? Object.fromEntries(Object.entries(item).reverse())
            : item,
        );
        return sameJson(left, right) === (canonical(left) === canonical(right)) && sameJson(left, reversed);
      }),
      { numRuns: 1000 },
    );
  });
});
