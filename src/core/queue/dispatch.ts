import { z } from 'zod';
import { nameWithoutControls } from '../json.js';

/** Why a segment is in the queue. What has begun goes on before something else begins. */
export type Band = 'resumed' | 'child' | 'new';

/** One more than the lowest priority of a run, so that bands do not overlap. */
export const BAND_WIDTH = 1_000_001;
const BANDS: readonly Band[] = ['resumed', 'child', 'new'];

/** The priority of a segment in the queue, where lower comes first: its band, and within it that of its run. */
export const queuePriority = (band: Band, priority: number): number => BANDS.indexOf(band) * BAND_WIDTH + priority;

/** Stands between tenant and agent in the key of a queued segment. */
export const KEY_SEPARATOR = '\u001f';

/**
 * The fifth part of the key of a run that needs a container. The sixth is the engine that its container is on, if there is one; the
 * seventh, if it is there, what a worker must have to take the run.
 */
export const NEEDS_CONTAINER = 'container';

/** Under which segments share their limits, and are found in the queue. Image and model are in it where they are limited. */
export const queueKey = (
  tenant: string,
  agent: string,
  needsContainer = false,
  engine?: string,
  requires = '',
): string => {
  const known = requires === '' ? (engine === undefined ? [] : [engine]) : [engine ?? '', requires];
  const container = [NEEDS_CONTAINER, ...known];
  return [tenant, agent, ...(needsContainer ? ['', '', ...container] : [])].join(KEY_SEPARATOR);
};

/** How much of something is done at once, and begun in a time. */
export const dispatchLimits = z.strictObject({
  /** Segments at work at once, under all workers. */
  concurrency: z.int().min(1).max(1_000_000).optional(),
  /** Runs that begin in any period of so many milliseconds. One that goes on is not counted again. */
  rate: z.strictObject({ runs: z.int().min(1).max(1_000_000), perMs: z.int().min(1).max(86_400_000) }).optional(),
});
export type DispatchLimits = z.infer<typeof dispatchLimits>;

export const tenantLimits = z.strictObject({
  /** What holds for each tenant that is not named. */
  each: dispatchLimits.optional(),
  named: z.record(nameWithoutControls, dispatchLimits).optional(),
});
export type TenantLimits = z.infer<typeof tenantLimits>;

/** How many runs are at work at once, by the image of their container or by the model of their agent. */
export const namedLimits = z.record(
  z
    .string()
    .min(1)
    .max(500)
    .refine((name) => !name.includes(KEY_SEPARATOR), 'no image or model has such a name'),
  z.strictObject({ concurrency: z.int().min(1).max(1_000_000) }),
);
export type NamedLimits = z.infer<typeof namedLimits>;

/** Stands between the process that wakes and what it says of the reason. */
const SEPARATOR = '\u001f';

/** Of many workers, so many look at once for each segment that was put into the queue. */
const WOKEN = 16;

/** What the others hear when something was put into the queue: the name of the process, and how many segments. */
export const wakeText = (from: string, segments: number): string => `${from}${SEPARATOR}${segments}`;

/**
 * Whether a worker looks at once that hears this. `others`: how many other processes it knows. `chance`: from 0 to below 1. Among many
 * workers most find nothing, and each look costs the database: so some of them look, and the rest with their next look of their own, which
 * comes within a second.
 */
export function isWoken(text: string, self: string, others: number, chance: number): boolean {
  const [from, count] = text.split(SEPARATOR);
  if (from === self) return false;
  // Without a count, everything may have changed.
  return count === undefined || chance * others < WOKEN * Number(count);
}
