import { type ErrorCode, HoldfastError } from '../errors/errors.js';
import { canonical, type JsonObject, type JsonValue } from '../json.js';

/** Definitions before and after a patch, member by member. */

export const membersOf = (value: JsonValue | undefined): JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as JsonObject) : {};

/** Names of the members that differ. Order of members does not count. */
export function changedMembers(before: JsonObject, after: JsonObject): readonly string[] {
  const textOf = (of: JsonObject, name: string): string => {
    const value = Object.hasOwn(of, name) ? of[name] : undefined;
    return value === undefined ? '' : canonical(value);
  };
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])].sort();
  return names.filter((name) => textOf(before, name) !== textOf(after, name));
}

export const refused = (code: ErrorCode, pointer: string, what: string): HoldfastError => {
  const detail = `no patch changes ${what}`;
  return new HoldfastError(code, `The patch is refused at ${pointer}: ${detail}.`, {
    fields: [{ pointer: '/patch', detail: `${pointer}: ${detail}` }],
  });
};
