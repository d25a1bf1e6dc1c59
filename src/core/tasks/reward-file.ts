import { z } from 'zod';

const written = z.union([z.number(), z.object({ reward: z.number() }).transform(({ reward }) => reward)]);

/** What a test has written of how much of it passed, from 0 to 1: a number, or an object whose `reward` is one. Anything else is 0. */
export function shareOf(text: string): number {
  try {
    return Math.min(1, Math.max(0, written.safeParse(JSON.parse(text)).data ?? 0));
  } catch {
    return 0;
  }
}
