import { z } from 'zod';
import { idText } from '../json.js';
import { pageLimit, unreadableItem } from '../page.js';

export const idPath = z.strictObject({ id: idText });

/** `cursor` is what a page before gave as `nextCursor`; what it means is the list's own. */
export const pageQuery = {
  limit: pageLimit,
  cursor: z
    .string()
    // Two names of 200 characters are the longest place; as escaped JSON in base64 they take 3,300.
    .regex(/^[\x21-\x7e]{1,4000}$/, 'expected the nextCursor of a page')
    .exactOptional()
    .describe('`nextCursor` of the page before. Unset: the first page.'),
};

export const pageOf = <T extends z.ZodType>(item: T) =>
  z.object({
    items: z.array(item),
    unreadable: z
      .array(unreadableItem)
      .exactOptional()
      .describe(
        'Rows of the page that cannot be read, because someone changed them. Absent: `items` is the whole page.',
      ),
    nextCursor: z.string().nullable().describe('Null on the last page.'),
  });

/** A number in a text, which may be broken and negative. */
const numberIn = z
  .string()
  .regex(/^-?\d{1,9}(\.\d{1,9})?$/, 'expected a number, such as 0.5')
  .transform(Number);

const bound = numberIn.exactOptional();

/** The bounds of a list by reward and scores, as a query has them. */
export const scoreQuery = {
  minReward: bound.describe('Only those with this reward or more.'),
  maxReward: bound.describe('Only those with this reward or less.'),
  minQuality: bound.describe('Only those with this quality score or more; of a task, that of its last run.'),
  maxQuality: bound.describe('Only those with this quality score or less.'),
  minDiversity: bound.describe('Only those with this diversity score or more; of a task, that of its last run.'),
  maxDiversity: bound.describe('Only those with this diversity score or less.'),
};

const digits = (expected: string) =>
  z
    .string()
    .regex(/^\d{1,15}$/, expected)
    .transform(Number);

/** A sequence number in a text; digits only. */
export const sequence = digits('expected the sequence number of an event');
/** The place in a list that is no list of events. */
export const position = digits('expected digits: the number that the page before gave');

/** The event that a client has read last. An empty id is what a client has before its first event. */
export const lastEventId = z.union([z.literal('').transform(() => 0), sequence]).exactOptional();

const QUOTED = /^"(?:[^"\\]|\\["\\])*"$/;
const unquoted = (value: string): string =>
  QUOTED.test(value) ? value.slice(1, -1).replace(/\\(["\\])/g, '$1') : value;

/**
 * The key of the header Idempotency-Key (draft-ietf-httpapi-idempotency-key-header-07): a structured-field string, quotes and
 * all, or bare as most clients send it. Both spellings of a key are the same key.
 */
export const idempotencyKey = z
  .string()
  .transform(unquoted)
  .pipe(z.string().regex(/^[\x21-\x7e]{1,255}$/, 'expected 1 to 255 visible ASCII characters, quoted or bare'))
  .describe('The same key with the same body gives the same run, however often it is sent.');

/** The headers of an operation that is done once under a key. */
export const optionalKey = z.object({ 'idempotency-key': idempotencyKey.exactOptional() });
export const requiredKey = z.object({ 'idempotency-key': idempotencyKey });
