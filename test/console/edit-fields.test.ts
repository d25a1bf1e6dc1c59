import { describe, expect, test } from 'vitest';
import { argumentsIn, faultIn, fieldsOf, firstText } from '../../src/console/inbox/edit-fields.js';
import { ExactNumber, exactText, parseExact } from '../../src/console/text/exact.js';

const SCHEMA = {
  type: 'object',
  properties: {
    order: { type: 'string', description: 'Its number.' },
    cents: { type: 'integer' },
    urgent: { type: 'boolean' },
    speed: { type: 'string', enum: ['slow', 'fast'] },
    lines: { type: 'array' },
    note: { type: 'string' },
  },
};

describe('arguments as a form', () => {
  const edited = (args: unknown, changes: Record<string, string | null> = {}): string => {
    const fields = fieldsOf(SCHEMA, args) ?? [];
    const textOf = (at: number): string | null => {
      const field = fields[at];
      if (field === undefined) return null;
      if (Object.hasOwn(changes, field.name)) return changes[field.name] ?? null;
      if (field.kind === 'boolean') return field.value === true ? 'on' : null;
      return firstText(field);
    };
    return exactText(argumentsIn(fields, textOf));
  };

  test.each([
    '{"order":"1042","cents":8000,"urgent":true,"speed":"fast","lines":[1,{"a":null}],"note":""}',
    '{"order":"1042"}',
    '{"order":7,"urgent":"yes","speed":"other"}',
    '{"__proto__":{"x":1},"order":"1"}',
    '{"extra":null,"order":"1"}',
  ])('that no one changes stay as they are: %s', (json) => {
    expect(edited(parseExact(json))).toBe(json);
  });

  test('keep a number that a double does not hold, as it was written', () => {
    const args = { cents: new ExactNumber('9007199254740993') };
    const [field] = fieldsOf(SCHEMA, args) ?? [];
    expect(field).toMatchObject({ name: 'cents', kind: 'number' });
    expect(field && firstText(field)).toBe('9007199254740993');
  });

  test('take what was typed, by the kind of the field', () => {
    const args = parseExact('{"order":"1042","cents":8000,"urgent":true}');
    // A runtime that tells the sources of numbers keeps `1e3` as it was typed.
    expect(JSON.parse(edited(args, { order: '7', cents: '1e3', urgent: null, note: 'new' }))).toEqual({
      order: '7',
      cents: 1000,
      urgent: false,
      note: 'new',
    });
    expect(() => edited(args, { cents: 'sixty' })).toThrow('cents: "sixty" is no number.');
    expect(() => edited(args, { lines: '[1' })).toThrow('lines: "[1" is no JSON.');
  });

  test.each([
    ['no schema', null, {}],
    ['a schema of no object', { type: 'array' }, {}],
    ['arguments that are no object', SCHEMA, [1]],
    ['nothing to fill in', { type: 'object', properties: {} }, {}],
  ])('are JSON where there is %s', (_about, schema, args) => {
    expect(fieldsOf(schema, args)).toBeNull();
  });
});

test('a fault is that of the field that it names, and of no other one that begins like it', () => {
  const faults = [
    { pointer: '/arguments/orderLines/0', detail: 'no text' },
    { pointer: '/arguments/a~1b', detail: 'too long' },
    { pointer: '/arguments', detail: 'Invalid input: expected number → at cents' },
  ];
  expect(faultIn(faults, 'orderLines')).toBe('no text');
  expect(faultIn(faults, 'order')).toBeNull();
  expect(faultIn(faults, 'a/b')).toBe('too long');
  expect(faultIn(faults, 'a')).toBeNull();
  expect(faultIn(faults, 'cents')).toContain('expected number');
  expect(faultIn(faults, 'cent')).toBeNull();
});
