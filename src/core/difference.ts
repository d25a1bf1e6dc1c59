import { z } from 'zod';
import { canonical, isObject, type JsonValue, jsonValue, pointerToken } from './json.js';
import type { Allowance } from './limits/allowance.js';

/** One operation of a JSON Patch (RFC 6902); `path` is a JSON pointer (RFC 6901). */
export const patchOperation = z.discriminatedUnion('op', [
  z.object({ op: z.literal('add'), path: z.string(), value: jsonValue }),
  z.object({ op: z.literal('replace'), path: z.string(), value: jsonValue }),
  z.object({ op: z.literal('remove'), path: z.string() }),
]);
export type PatchOperation = z.infer<typeof patchOperation>;

type Members = { readonly [key: string]: JsonValue };

/** Members by key; of a list, whose length the patch does not change: elements by index. */
function membersOf(from: JsonValue, to: JsonValue): readonly [Members, Members] | null {
  if (isObject(from) && isObject(to)) return [from, to];
  if (!Array.isArray(from) || !Array.isArray(to) || from.length !== to.length) return null;
  return [Object.fromEntries(from.entries()), Object.fromEntries(to.entries())];
}

/**
 * The JSON Patch (RFC 6902) that makes `to` of `from`, in the order of the keys. A list whose length differs is replaced as a
 * whole. A path says its place from the root each time, so that a patch can be far longer than both: throws `payload_too_large`.
 */
export const differenceOf = (from: JsonValue, to: JsonValue, allowance: Allowance): PatchOperation[] =>
  operations(from, to, '', allowance);

const WHAT = 'The difference';

function operations(from: JsonValue, to: JsonValue, path: string, allowance: Allowance): PatchOperation[] {
  const members = membersOf(from, to);
  if (members === null) {
    if (canonical(from) === canonical(to)) return [];
    allowance.make(path.length, WHAT);
    return [{ op: 'replace', path, value: to }];
  }
  const [before, after] = members;
  const keys = [...new Set([...Object.keys(before), ...Object.keys(after)])].sort();
  return keys.flatMap((key): PatchOperation[] => {
    const at = `${path}/${pointerToken(key)}`;
    const old = Object.hasOwn(before, key) ? before[key] : undefined;
    const now = Object.hasOwn(after, key) ? after[key] : undefined;
    if (old !== undefined && now !== undefined) return operations(old, now, at, allowance);
    allowance.make(at.length, WHAT);
    return now === undefined ? [{ op: 'remove', path: at }] : [{ op: 'add', path: at, value: now }];
  });
}
