import type { z } from 'zod';
import { type FieldError, HoldfastError } from './errors/errors.js';
import { isRecord, nameInPointer, pointerToken } from './json.js';
import { unknownNames } from './nearest-name.js';

type Issue = z.core.$ZodIssue;

/** How many of the places that are wrong are told. */
const TOLD_MOST = 100;

/** A path as a JSON pointer (RFC 6901). */
export const pointerTo = (path: readonly PropertyKey[]): string =>
  path.map((key) => `/${pointerToken(String(key))}`).join('');

/** A key that is not known is a place below. */
const depthOf = (issues: readonly Issue[]): number =>
  Math.max(0, ...issues.map(({ path, code }) => path.length + (code === 'unrecognized_keys' ? 1 : 0)));

/** Of a union, the branch that got furthest; if none did, what each branch wanted. */
function fieldsOf(issue: Issue, prefix: string): readonly FieldError[] {
  const pointer = `${prefix}${pointerTo(issue.path)}`;
  if (issue.code === 'unrecognized_keys') {
    const told = issue.keys.slice(0, TOLD_MOST);
    const wrong = told.map((key) => ({ pointer: `${pointer}/${pointerToken(key)}`, detail: 'is not known here' }));
    const more = issue.keys.length - told.length;
    return more === 0 ? wrong : [...wrong, { pointer, detail: `${more} more names are not known here` }];
  }
  if (issue.code === 'invalid_union' && issue.errors.length > 0) {
    const furthest = issue.errors.toSorted((a, b) => depthOf(b) - depthOf(a))[0] ?? [];
    if (depthOf(furthest) > 0) return furthest.flatMap((inner) => fieldsOf(inner, pointer));
    const wanted = issue.errors.flatMap((branch) => branch.map((inner) => inner.message));
    return [{ pointer, detail: [...new Set(wanted)].join(', or ') }];
  }
  // Of a key, what is wrong with it as a text.
  if (issue.code === 'invalid_key') return issue.issues.map(({ message }) => ({ pointer, detail: message }));
  return [{ pointer, detail: issue.message }];
}

/** What is wrong where, with one entry per place. `prefix` stands before every pointer. */
export function fieldErrorsOf({ issues }: z.ZodError, prefix = ''): readonly FieldError[] {
  const details = new Map<string, string>();
  for (const { pointer, detail } of issues.slice(0, TOLD_MOST).flatMap((issue) => fieldsOf(issue, prefix))) {
    const before = details.get(pointer);
    details.set(pointer, before === undefined ? detail : `${before}, and ${detail}`);
  }
  const more = issues.length - TOLD_MOST;
  if (more > 0) details.set(prefix, `${more} more places are wrong`);
  return [...details].map(([pointer, detail]) => ({ pointer, detail }));
}

/**
 * The members called `__proto__` that a shape has left out without a message: zod takes none into a record. What is not said would be
 * lost, as a signal of a reward or a file of a task.
 */
export function namesLeftOut(given: unknown, parsed: unknown, prefix = ''): readonly FieldError[] {
  if (given === parsed || !isRecord(given) || !isRecord(parsed)) return [];
  const isLost = Object.hasOwn(given, '__proto__') && !Object.hasOwn(parsed, '__proto__');
  const lost = isLost ? [{ pointer: `${prefix}/__proto__`, detail: 'is a name that is not taken here' }] : [];
  const inside = Object.entries(given).flatMap(([name, item]) =>
    Object.hasOwn(parsed, name) ? namesLeftOut(item, parsed[name], `${prefix}${pointerTo([name])}`) : [],
  );
  return [...lost, ...inside];
}

/** What is said may be a sentence of something else. */
const withoutStop = (text: string): string => text.replace(/\.$/, '');

/** A configuration that nothing can work with. The text names every wrong field as a person writes it: `budgets.perRun`. */
export function invalidConfig(who: string, fields: readonly FieldError[]): HoldfastError {
  const said = fields
    .map(({ pointer, detail }) => (pointer === '' ? detail : `${placeOf(pointer)}: ${detail}`))
    .map(withoutStop)
    .join('; ');
  return new HoldfastError('config_invalid', `${who} cannot work like this: ${said}.`, { fields });
}

/** A pointer as a person writes the place: `providers.lab.baseURL`. */
export const placeOf = (pointer: string): string => pointer.slice(1).split('/').map(nameInPointer).join('.');

/** A request that does not have its shape, naming every wrong field. `of`: what it was asked of, unless that is clear. */
export function invalidRequest(fields: readonly FieldError[], of?: string): HoldfastError {
  const said = fields
    .slice(0, 5)
    .map(({ pointer, detail }) => withoutStop(`${pointer === '' ? 'The request' : pointer}: ${detail}`));
  return new HoldfastError('invalid_request', `${of === undefined ? '' : `${of}: `}${said.join('; ')}.`, { fields });
}

/** The same where names that are not known say the nearest one that is. */
export function fieldErrorsWithNames(
  error: z.ZodError,
  given: object,
  known: readonly string[],
): readonly FieldError[] {
  const named = new Map(unknownNames(given, known).map((field) => [field.pointer, field]));
  return fieldErrorsOf(error).map((field) => named.get(field.pointer) ?? field);
}
