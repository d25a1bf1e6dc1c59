import { z } from 'zod';

const DAY_MS = 86_400_000;

/** What is done about runs that are at work and of which nothing is heard. */
export const stallsConfig = z.strictObject({
  /** Milliseconds without a step that begins or ends. Default 15 minutes. */
  afterMs: z
    .int()
    .min(1000)
    .max(7 * DAY_MS)
    .default(900_000),
  /** Whether such a run is ended as `run_stalled`. Default false: it is told. */
  end: z.boolean().default(false),
});
export type StallsConfig = z.input<typeof stallsConfig>;
export type Stalls = z.infer<typeof stallsConfig>;
