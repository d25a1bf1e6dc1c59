import { z } from 'zod';
import { HoldfastError } from './errors/errors.js';

/** A row of a list that cannot be shown, because someone changed it. */
export const unreadableItem = z
  .object({
    id: z.string().describe('The id of the item: the number of an item of a session, the version of a reward.'),
    error: z.object({ code: z.string(), message: z.string(), hint: z.string() }),
  })
  .meta({ id: 'UnreadableItem' });
export type UnreadableItem = z.infer<typeof unreadableItem>;

/** One page of a list; `nextCursor` is null on the last. */
export interface Page<T> {
  readonly items: readonly T[];
  /** Rows of the page that cannot be read. Absent: every row could be read. */
  readonly unreadable?: readonly UnreadableItem[];
  readonly nextCursor: string | null;
}

/** Gives the items of a page. Throws `row_changed` if one of its rows cannot be read. */
export function wholeItems<T>({ items, unreadable: [first] = [] }: Omit<Page<T>, 'nextCursor'>): readonly T[] {
  if (first === undefined) return items;
  throw new HoldfastError('row_changed', first.error.message, { hint: first.error.hint });
}

/** What an item of a list shows in part. */
export const cutValues = z
  .object({
    fields: z
      .array(z.string())
      .describe('Fields whose JSON takes more than 4096 bytes: each is a text, the first characters of that JSON.'),
    whole: z.string().describe('Where the whole item is.'),
  })
  .nullable()
  .describe('Null: nothing is cut.');
export type CutValues = z.infer<typeof cutValues>;

/** Which page of a list: `cursor` is what the page before gave as `nextCursor`. */
export interface PageOf {
  readonly limit: number;
  readonly cursor?: string;
}

export const PAGE_LIMIT = 200;
export const pageLimit = z.coerce.number().int().min(1).max(PAGE_LIMIT).default(50);

/** The place after the last item of a page, as clients get it. */
export const writeCursor = (place: readonly string[]): string =>
  Buffer.from(JSON.stringify(place)).toString('base64url');

/** Throws `invalid_request` for a cursor that no list gave. */
export function readCursor<Place>(cursor: string, shape: z.ZodType<Place>): Place {
  try {
    return shape.parse(JSON.parse(Buffer.from(cursor, 'base64url').toString('utf8')));
  } catch {
    throw new HoldfastError('invalid_request', 'The cursor is not one that a list of this server gave.', {
      fields: [{ pointer: '/cursor', detail: 'use nextCursor of the page before' }],
    });
  }
}
