import { z } from 'zod';

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
