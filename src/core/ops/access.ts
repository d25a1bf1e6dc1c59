import { z } from 'zod';

/** A row of the access log: who asked for what, and how it was answered. */
export const accessView = z
  .object({
    id: z.string(),
    at: z.iso.datetime(),
    actor: z.string(),
    role: z.string().describe('That of the token, at that time.'),
    method: z.string(),
    route: z.string(),
    target: z.string().nullable().describe('The id in the address; null: there is none in it.'),
    status: z.int().describe('That was answered.'),
  })
  .meta({ id: 'Access' });
export type AccessView = z.infer<typeof accessView>;
