import { uptime } from 'node:os';

/** `uptime` is that coarse on some systems. A shorter sleep changes nothing. */
const SLEEP_LEAST_MS = 500;

export interface Clocks {
  /** Stands still while the machine sleeps, as `performance.now` does on Linux. */
  readonly awakeMs: () => number;
  /** Counts on meanwhile. */
  readonly uptimeMs: () => number;
}

/** Makes a clock that is as fine as `awakeMs` and counts the sleep of the machine as well. */
export function countingSleep({ awakeMs, uptimeMs }: Clocks): () => number {
  const beganMs = uptimeMs() - awakeMs();
  let sleptMs = 0;
  return () => {
    const aheadMs = uptimeMs() - awakeMs() - beganMs;
    if (aheadMs > sleptMs + SLEEP_LEAST_MS) sleptMs = aheadMs;
    return awakeMs() + sleptMs;
  };
}

/**
 * Returns milliseconds of a clock that nobody can set and that counts while the machine sleeps. After a wake-up, `performance.now`
 * would call a lease valid that others have taken over.
 */
export const elapsedMs = countingSleep({ awakeMs: () => performance.now(), uptimeMs: () => uptime() * 1000 });
