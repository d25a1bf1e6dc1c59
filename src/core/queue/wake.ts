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
