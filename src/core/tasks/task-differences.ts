import { pointerToken } from '../json.js';

/** Where two values of JSON differ, as pointers in their order. A time of making says nothing. */
export function differencesOf(
  before: unknown,
  after: unknown,
  pointer = '',
): readonly { readonly pointer: string; readonly detail: string }[] {
  if (JSON.stringify(before) === JSON.stringify(after) || pointer === '/createdAt') return [];
  if (!isBranch(before) || !isBranch(after) || Array.isArray(before) !== Array.isArray(after))
    return [{ pointer, detail: `is ${shown(after)}, and was ${shown(before)}` }];
  const keys = [...new Set([...Object.keys(before), ...Object.keys(after)])].sort();
  return keys.flatMap((key) => differencesOf(before[key], after[key], `${pointer}/${pointerToken(key)}`));
}

const SHOWN_MOST = 60;

const isBranch = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null;

const shown = (value: unknown): string =>
  value === undefined ? 'not there' : JSON.stringify(value).slice(0, SHOWN_MOST).toWellFormed();
