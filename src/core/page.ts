import { z } from 'zod';

/** One page of a list; `nextCursor` is null on the last. */
export interface Page<T> {
  readonly items: readonly T[];
  readonly nextCursor: string | null;
}

export const PAGE_LIMIT = 200;
export const pageLimit = z.coerce.number().int().min(1).max(PAGE_LIMIT).default(50);
