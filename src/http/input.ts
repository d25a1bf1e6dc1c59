import type { z } from 'zod';
import type { FieldError } from '../core/errors.js';
import { fieldErrorsOf, invalidRequest, pointerTo } from '../core/field-errors.js';

/**
 * Parses one part of a request. `prefix` is '' for the body and `/path`, `/query` or `/header` for the others.
 * Throws `invalid_request`, which names every wrong field.
 */
export function parseInput<S extends z.ZodType>(schema: S, value: unknown, prefix: string): z.output<S> {
  const repeated = prefix === '/query' ? timesOf(value) : [];
  if (repeated.length > 0) throw invalidRequest(repeated);
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  throw invalidRequest(fieldErrorsOf(parsed.error, prefix));
}

/** A parameter that is there more than once comes as a list, and none takes one. */
const timesOf = (query: unknown): readonly FieldError[] =>
  Object.entries(query ?? {}).flatMap(([name, value]: [string, unknown]) =>
    Array.isArray(value)
      ? [{ pointer: `/query${pointerTo([name])}`, detail: `is there ${value.length} times; expected once` }]
      : [],
  );
