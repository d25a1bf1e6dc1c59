import { HoldfastError } from '../../core/errors/errors.js';

const MINUTE_MS = 60_000;
const KEYS_MOST = 10_000;

/** Counts what comes under a key in a minute. It forgets all counts when the minute is over, or when there are too many keys. */
export interface Rate {
  /** Throws `rate_limited`; `what` names what there are too many of. */
  take(key: string, what: string): void;
}

export function createRate(perMinute: number, now: () => number = Date.now): Rate {
  const counts = new Map<string, number>();
  let since = now();
  return {
    take(key, what) {
      if (now() - since >= MINUTE_MS || (!counts.has(key) && counts.size >= KEYS_MOST)) {
        counts.clear();
        since = now();
      }
      const count = (counts.get(key) ?? 0) + 1;
      counts.set(key, count);
      if (count <= perMinute) return;
      throw new HoldfastError('rate_limited', `There were more than ${perMinute} ${what} in a minute.`);
    },
  };
}
