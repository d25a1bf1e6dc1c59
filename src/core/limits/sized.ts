import { z } from 'zod';

/** A list or a record whose size is looked at first: of one that has too many parts, no part is looked at. */
export const sized = <T extends z.ZodType>(most: number, schema: T) =>
  z.preprocess<unknown, T, z.input<T>>((value, context) => {
    const size = typeof value === 'object' && value !== null ? Object.keys(value).length : 0;
    if (size <= most) return value;
    context.addIssue({ code: 'custom', message: `expected at most ${most}, got ${size}` });
    return z.NEVER;
  }, schema);
