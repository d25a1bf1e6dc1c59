import { HoldfastError } from '../../core/errors/errors.js';

const MINUTE_MS = 60_000;
const KEYS_MOST = 10_000;

/** Counts what comes under a key in a minute. It forgets all counts when the minute is over, or when there are too many keys. */
export interface Rate {
  /** Throws `rate_limited`; `what` names what there are too many of. */
  take(key: string, what: string): void;
  /** Throws `rate_limited` where one more is too many, and counts nothing. */
  assertFree(key: string, what: string): void;
}

export function createRate(perMinute: number, now: () => number = Date.now): Rate {
  const counts = new Map<string, number>();
  let since = now();
  const tooMany = (what: string): HoldfastError =>
    new HoldfastError('rate_limited', `There were more than ${perMinute} ${what} in a minute.`);
  const isOver = (): boolean => now() - since >= MINUTE_MS;
  return {
    assertFree(key, what) {
      if (!isOver() && (counts.get(key) ?? 0) >= perMinute) throw tooMany(what);
    },
    take(key, what) {
      if (isOver() || (!counts.has(key) && counts.size >= KEYS_MOST)) {
        counts.clear();
        since = now();
      }
      const count = (counts.get(key) ?? 0) + 1;
      counts.set(key, count);
      if (count > perMinute) throw tooMany(what);
    },
  };
}
