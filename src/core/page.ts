import { z } from 'zod';
import { HoldfastError } from './errors/errors.js';

/** One page of a list; `nextCursor` is null on the last. */
export interface Page<T> {
  readonly items: readonly T[];
  readonly nextCursor: string | null;
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
