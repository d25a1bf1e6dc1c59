import fc from 'fast-check';
import { RE2JS } from 're2js';
import { describe, expect, it } from 'vitest';
import { recordedExport, startExport } from '../../../src/core/exports/export.js';
import { redactorOf } from '../../../src/core/exports/redaction.js';
import { Allowance } from '../../../src/core/limits/allowance.js';
import { linearPattern, PATTERN_SIZE, patternProblem, patternSize } from '../../../src/core/limits/linear-pattern.js';
import { schemaInLinearTime } from '../../../src/core/limits/linear-schema.js';

const allowance = () => new Allowance();
const request = (patterns: readonly { pattern: string }[]) => ({
  format: 'messages',
  to: { folder: 'x' },
  options: { redact: { patterns } },
});
const pointersOf = (patterns: readonly { pattern: string }[]) =>
  startExport.safeParse(request(patterns)).error?.issues.map(({ path }) => path.join('/')) ?? [];

describe('expressions that someone else wrote', () => {
  it('are done where the engine of JavaScript takes forever', () => {
    const bomb = `${'a?'.repeat(80)}${'a'.repeat(80)}b`;
    const clean = redactorOf(
      { patterns: [{ pattern: bomb, ignoreCase: false, replacement: '-' }], keys: [] },
      String,
      allowance(),
    );
    expect(clean('a'.repeat(160))).toBe('a'.repeat(160));
    expect(linearPattern('(a+)+$').replace(`${'a'.repeat(50_000)}!`, '-', allowance())).toBe(`${'a'.repeat(50_000)}!`);
    expect(linearPattern('(x+x+)+y').test('x'.repeat(50_000))).toBe(false);
  });

  it('put a replacement in as it stands, and know upper and lower case', () => {
    expect(linearPattern('ann', { ignoreCase: true }).replace('Ann, ANN', '$1 $& \\n', allowance())).toBe(
      '$1 $& \\n, $1 $& \\n',
    );
    expect(linearPattern('ann').replace('Ann', '-', allowance())).toBe('Ann');
    expect(linearPattern('\\d{3}|é').replace('é 123 12', '-', allowance())).toBe('- - 12');
  });

  it('are refused with a reason where RE2 has no such part, and where they would be large', () => {
    for (const pattern of ['(?=x)y', '(?<!a)b', '(x)\\1', '[', '(', '\\u00e9', '\\Qa\\E', '(?:a{100}){100}'])
      expect(patternProblem(pattern), pattern).toMatch(/^expected /);
    expect(pointersOf([{ pattern: `(?:${'a'.repeat(400)}){1000}` }])).toEqual(['options/redact/patterns/0/pattern']);
    expect(pointersOf([{ pattern: '\\pL{1000}'.repeat(30) }])).toEqual(['options/redact/patterns/0/pattern']);
    const each = { pattern: 'a{900}' };
    expect(pointersOf([each])).toEqual([]);
    expect(pointersOf(Array.from({ length: 50 }, () => each))).toEqual(['options/redact/patterns']);
  });

  it('are refused where their classes take long to compile, whatever repeats them', () => {
    const table = '\\pL'.repeat(160);
    const range = '\u0100-\uffff'.repeat(150);
    const hex = '\\x{100}-\\x{ffff}'.repeat(30);
    for (const classes of [table, `^${table}`, range, hex]) {
      expect(pointersOf(Array.from({ length: 3 }, () => ({ pattern: `[${classes}]` }))), classes).toEqual(
        classes === hex ? ['options/redact/patterns'] : [0, 1, 2].map((at) => `options/redact/patterns/${at}/pattern`),
      );
    }
    const ordinary = ['[\\x{4e00}-\\x{9fff}]', '\\p{Lu}\\p{Ll}{2,100} \\pL+'];
    expect(pointersOf(ordinary.map((pattern) => ({ pattern: `(?:${pattern}){1,9}` })))).toEqual([]);
    expect(pointersOf(Array.from({ length: 50 }, () => ({ pattern: '[\\pL\\pN]{1,20}' })))).toEqual([]);
  });

  it('are read from an export that was taken once', () => {
    const old = request([{ pattern: '(?=x)y' }]);
    expect(startExport.safeParse(old).success).toBe(false);
    expect(recordedExport.safeParse(old).success).toBe(true);
  });

  it('are never larger than was reckoned', () => {
    const atom = fc.constantFrom(
      'a',
      '.',
      '\\d',
      '\\pL',
      '[a-z]',
      '[]a]',
      '[^]{9}]',
      '[[:alpha:]{3}]',
      '\\[',
      '\\{',
      '\\p{Greek}',
      '^',
      'a{',
      '{,3}',
    );
    const count = fc.constantFrom('', '', '*', '+?', '?', '{3}', '{2,}', '{0,20}', '{7}?');
    const { tree } = fc.letrec<{ tree: string; group: string }>((tie) => ({
      tree: fc
        .array(fc.tuple(fc.oneof({ depthSize: 'small' }, atom, tie('group')), count), { maxLength: 5 })
        .map((parts) => parts.map((pair) => pair.join('')).join('')),
      group: fc.tuple(tie('tree'), tie('tree')).map(([a, b]) => `(?:${a}|${b})`),
    }));
    let compiled = 0;
    fc.assert(
      fc.property(tree, (pattern) => {
        const size = patternSize(pattern);
        if (size > PATTERN_SIZE || patternProblem(pattern) !== null) return;
        compiled += 1;
        expect(RE2JS.compile(pattern).programSize()).toBeLessThanOrEqual(size);
      }),
      { seed: 18, numRuns: 500 },
    );
    expect(compiled).toBeGreaterThan(100);
  });
});

describe('patterns of a JSON schema', () => {
  const check = schemaInLinearTime(
    {
      type: 'object',
      properties: {
        pattern: { type: 'string', pattern: '^[a-z]+$' },
        list: { type: 'array', items: { type: 'string', pattern: '(a+)+$' } },
        look: { type: 'string', pattern: '(?=a)b' },
      },
      patternProperties: { '^(a+)+$': { type: 'string' } },
      additionalProperties: false,
    },
    allowance(),
  );

  it('run in linear time and are held', () => {
    expect(check.safeParse({ pattern: 'abc', list: ['a'.repeat(30)], look: 'x' }).success).toBe(true);
    expect(check.safeParse({ pattern: 'ABC' }).error?.issues[0]).toMatchObject({ path: ['pattern'] });
    expect(check.safeParse({ list: ['aa', `${'a'.repeat(50_000)}!`] }).error?.issues[0]).toMatchObject({
      path: ['list', 1],
    });
    expect(check.safeParse({ [`${'a'.repeat(50_000)}!`]: 'x' }).success).toBe(true);
    expect(check.safeParse({ list: 'no list' }).success).toBe(false);
  });

  it('spend the allowance for each step of an expression at each character, and for compiling it', () => {
    const schema = (patterns: readonly string[]) => ({
      type: 'object',
      properties: Object.fromEntries(patterns.map((pattern, at) => [`p${at}`, { type: 'string', pattern }])),
    });
    const wide = schemaInLinearTime(schema(['(?i)(?:[\\pL]?){490}b']), allowance());
    expect(() => wide.safeParse({ p0: 'a'.repeat(20_000) })).toThrow(
      'Comparing the value with the patterns of its schema would take more than 500000 steps of work.',
    );
    const many = Array.from({ length: 20 }, (_, at) => `(?:a?){400}b${at}`);
    expect(() => schemaInLinearTime(schema(many), allowance())).toThrow(
      'Compiling the patterns of the schema would take more than 500000 steps of work.',
    );
    const plain = schemaInLinearTime(schema(['^[a-z]+$']), allowance());
    expect(plain.safeParse({ p0: 'a'.repeat(500_000) }).success).toBe(true);
  });
});
