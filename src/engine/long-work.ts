import type { StepContext } from '../../steps/context.js';
import { counted } from '../../steps/exports/counted-work.js';
import type { Caller } from '../core/caller.js';
import { limitConcurrency, longWork, type UntilSignal } from './concurrency/concurrency-limits.js';

/** Work that goes through whole logs. */
const READING = { atOnce: 4, waiting: 64, what: 'verifications, comparisons and proofs' };
/** Work that goes through a whole log and writes: each holds a transaction. */
const FORKING = { atOnce: 2, waiting: 64, what: 'forks, retries and repairs' };
/** Reading a record waits for no verification. */
const RECORDS = { atOnce: 4, waiting: 64, what: 'readings of trajectories' };
/** Each has a log in memory. */
const REPLAYS = { atOnce: 1, waiting: 64, what: 'replays' };
/** Each has a log in memory, and waits for models; nothing waits for these. */
const LIVE_REPLAYS_AT_ONCE = 4;

interface Asked extends UntilSignal {
  /** How a list of work that killed processes names it. */
  readonly name: string;
  readonly caller: Caller;
}

/**
 * Bounds how much long work of each kind is done at once. All of it ends when its caller is gone or the engine stops, and is set aside
 * after processes died with it.
 */
export function longWorkOf(ctx: StepContext, ending: AbortSignal) {
  const countedIn =
    (line: ReturnType<typeof longWork>) =>
    <T>({ name, caller, signal: until }: Asked, work: (signal: AbortSignal) => Promise<T>): Promise<T> =>
      line((signal) => counted(ctx, { tenant: caller.tenant, name }, () => work(signal)), until);
  const live = limitConcurrency(LIVE_REPLAYS_AT_ONCE, 'live replays');
  return {
    reading: countedIn(longWork(READING, ending)),
    forking: countedIn(longWork(FORKING, ending)),
    replays: countedIn(longWork(REPLAYS, ending)),
    liveReplays: countedIn((work, until) => {
      const signal = until === undefined ? ending : AbortSignal.any([ending, until]);
      return live(async () => {
        signal.throwIfAborted();
        return work(signal);
      });
    }),
    records: longWork(RECORDS, ending),
  };
}

export type LongWork = ReturnType<typeof longWorkOf>;
