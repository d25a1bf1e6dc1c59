import type { z } from 'zod';
import { type FieldError, HoldfastError } from '../core/errors.js';

type Issue = z.core.$ZodIssue;

const token = (key: PropertyKey): string => String(key).replaceAll('~', '~0').replaceAll('/', '~1');
const pointerTo = (path: readonly PropertyKey[]): string => path.map((key) => `/${token(key)}`).join('');

const depthOf = (issues: readonly Issue[]): number => Math.max(0, ...issues.map((issue) => issue.path.length));

/** One entry per wrong place. Of a union, the branch that got furthest; if none did, what each branch wanted. */
function fieldsOf(issue: Issue, prefix: string): readonly FieldError[] {
  const pointer = `${prefix}${pointerTo(issue.path)}`;
  if (issue.code === 'unrecognized_keys') {
    return issue.keys.map((key) => ({ pointer: `${pointer}/${token(key)}`, detail: 'is not known here' }));
  }
  if (issue.code === 'invalid_union' && issue.errors.length > 0) {
    const furthest = issue.errors.toSorted((a, b) => depthOf(b) - depthOf(a))[0] ?? [];
    if (depthOf(furthest) > 0) return furthest.flatMap((inner) => fieldsOf(inner, pointer));
    const wanted = issue.errors.flatMap((branch) => branch.map((inner) => inner.message));
    return [{ pointer, detail: [...new Set(wanted)].join(', or ') }];
  }
  return [{ pointer, detail: issue.message }];
}

/**
 * Parses one part of a request. `prefix` is '' for the body and `/path`, `/query` or `/header` for the others.
 * Throws `invalid_request`, which names every wrong field.
 */
export function parseInput<S extends z.ZodType>(schema: S, value: unknown, prefix: string): z.output<S> {
  const repeated = prefix === '/query' ? timesOf(value) : [];
  if (repeated.length > 0) throw invalidRequest(repeated);
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const fields = parsed.error.issues.flatMap((issue) => fieldsOf(issue, prefix));
  throw invalidRequest(fields);
}

/** A parameter that is there more than once comes as a list, and none takes one. */
const timesOf = (query: unknown): readonly FieldError[] =>
  Object.entries(query ?? {}).flatMap(([name, value]: [string, unknown]) =>
    Array.isArray(value)
      ? [{ pointer: `/query/${token(name)}`, detail: `is there ${value.length} times; expected once` }]
      : [],
  );

export function invalidRequest(fields: readonly FieldError[]): HoldfastError {
  const said = fields.map(({ pointer, detail }) => `${pointer === '' ? 'The body' : pointer}: ${detail}`);
  return new HoldfastError('invalid_request', `${said.slice(0, 5).join('; ')}.`, { fields });
}
