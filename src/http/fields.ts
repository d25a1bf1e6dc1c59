import { z } from 'zod';
import { pageLimit } from '../core/page.js';

const ID = /^[\x21-\x7e]{1,200}$/;

export const idPath = z.strictObject({ id: z.string().regex(ID, 'expected at most 200 visible ASCII characters') });

/** `cursor` is what a page before gave as `nextCursor`; what it means is the list's own. */
export const pageQuery = {
  limit: pageLimit,
  cursor: z
    .string()
    .regex(/^[\x21-\x7e]{1,1000}$/, 'expected the nextCursor of a page')
    .exactOptional(),
};

export const pageOf = <T extends z.ZodType>(item: T) =>
  z.object({ items: z.array(item), nextCursor: z.string().nullable().describe('Null on the last page.') });

/** A sequence number in a text; digits only. */
export const sequence = z
  .string()
  .regex(/^\d{1,15}$/, 'expected the sequence number of an event')
  .transform(Number);
