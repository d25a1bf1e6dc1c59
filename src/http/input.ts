import type { z } from 'zod';
import type { FieldError } from '../core/errors/errors.js';
import { fieldErrorsOf, invalidRequest, namesLeftOut, pointerTo } from '../core/field-errors.js';

/**
 * Parses one part of a request. `prefix` is '' for the body and `/path`, `/query` or `/header` for the others.
 * Throws `invalid_request`, which names every wrong field.
 */
export function parseInput<S extends z.ZodType>(schema: S, value: unknown, prefix: string): z.output<S> {
  const repeated = prefix === '/query' ? timesOf(value) : [];
  if (repeated.length > 0) throw invalidRequest(repeated);
  const unstorable = prefix === '' ? [] : unstorableIn(value, prefix);
  if (unstorable.length > 0) throw invalidRequest(unstorable);
  const parsed = schema.safeParse(value);
  if (!parsed.success) {
    const fields = fieldErrorsOf(parsed.error, prefix);
    throw invalidRequest(prefix === '/query' ? fields.map((field) => asNumber(field, value)) : fields);
  }
  const lost = prefix === '' ? namesLeftOut(value, parsed.data) : [];
  if (lost.length > 0) throw invalidRequest(lost);
  return parsed.data;
}

/** What the schema of a number says of a parameter that is missing or no number. */
const NOT_A_NUMBER = 'Invalid input: expected number, received NaN';

/** Says of a parameter what is wrong with it as a text. */
function asNumber(field: FieldError, query: unknown): FieldError {
  if (field.detail !== NOT_A_NUMBER) return field;
  const isThere = Object.keys(query ?? {}).some((name) => field.pointer === `/query${pointerTo([name])}`);
  return { ...field, detail: isThere ? 'expected a number' : 'is missing; expected a number' };
}

/**
 * The texts and names, at any depth, that PostgreSQL keeps in no column: those with NUL or half a character. JSON that is kept as a
 * whole, such as the input of a run, may have them: they are escaped there.
 */
export function unstorableIn(value: unknown, pointer: string): readonly FieldError[] {
  if (typeof value === 'string') return isStorable(value) ? [] : [{ pointer, detail: UNSTORABLE }];
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, item]: [string, unknown]) => {
    const at = `${pointer}${pointerTo([name])}`;
    return isStorable(name) ? unstorableIn(item, at) : [{ pointer: at, detail: UNSTORABLE }];
  });
}

const UNSTORABLE = 'holds NUL or half a character, which the database does not keep';
const isStorable = (text: string): boolean => !text.includes('\u0000') && text.isWellFormed();

/** A parameter that is there more than once comes as a list, and none takes one. */
const timesOf = (query: unknown): readonly FieldError[] =>
  Object.entries(query ?? {}).flatMap(([name, value]: [string, unknown]) =>
    Array.isArray(value)
      ? [{ pointer: `/query${pointerTo([name])}`, detail: `is there ${value.length} times; expected once` }]
      : [],
  );
