import { isObject, type JsonValue } from '../../core/json.js';

/**
 * What stands at a path that ends: a value, a number with the sum of additions that it includes, or an empty list. Members are kept by their
 * whole path, so that two writers who make the same object at once make one object.
 */
export type Leaf = readonly ['v', JsonValue] | readonly ['n', number, number] | readonly ['l'];

export const LEAVES = 'leaves';
/** Names of parts of the document must not contain a slash. */
export const listName = (path: string): string => `list ${encodeURIComponent(path)}`;
export const sumName = (path: string): string => `sum ${encodeURIComponent(path)}`;
const NAMED = /^(list|sum) (.*)$/;

function pathIn(kind: 'list' | 'sum', name: string): string | null {
  const [, found, path = ''] = NAMED.exec(name) ?? [];
  return found === kind ? decodeURIComponent(path) : null;
}
/** The path of the list with a name; null: the name is that of another part. */
export const listPath = (name: string): string | null => pathIn('list', name);
export const sumPath = (name: string): string | null => pathIn('sum', name);

/** The library reads a member called `__proto__` as the prototype of its object, so an item with one is kept as a text of JSON. */
const AS_TEXT = 'holdfast:json';

/** An item of a list, as the library keeps it. */
export function keptItem(item: JsonValue): JsonValue {
  const text = typeof item === 'object' ? JSON.stringify(item) : '';
  return text.includes('"__proto__"') || text.includes(AS_TEXT) ? { [AS_TEXT]: text } : item;
}

/** The item of a list that is kept so. */
export function itemOf(kept: JsonValue): JsonValue {
  const text = isObject(kept) ? kept[AS_TEXT] : undefined;
  return typeof text === 'string' ? JSON.parse(text) : kept;
}
