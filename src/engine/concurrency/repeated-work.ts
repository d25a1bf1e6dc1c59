import { uptime } from 'node:os';
import { counted } from '../../../steps/exports/counted-work.js';
import { HoldfastError } from '../../core/errors/errors.js';
import type { EngineLog } from '../../core/ops/log-record.js';
import type { NamedWork } from '../../storage/queue/work-notes.js';
import type { EngineContext } from '../engine-context.js';
import { levelOfFailure } from './work-off.js';

interface Repeating {
  /** For the log. */
  readonly what: string;
  /** How long it rests between two times. */
  readonly everyMs: number;
  readonly log: EngineLog;
}

/**
 * Does something again and again, from one rest on, until it is stopped: one time after the other, whatever else repeats beside it.
 * A time that fails is said in the log, and the next one comes. Stopping waits for the time that is at work.
 */
export function repeating(
  { what, everyMs, log }: Repeating,
  work: (isStopping: () => boolean) => Promise<void>,
): () => Promise<void> {
  let stopped = false;
  let timer: NodeJS.Timeout | undefined;
  let current: Promise<void> = Promise.resolve();
  const once = async (): Promise<void> => {
    try {
      await work(() => stopped);
    } catch (error) {
      log[levelOfFailure(error)](
        { component: 'worker', event: 'beat_failed', what, error: String(error) },
        'work that the worker repeats failed; it is tried again',
      );
    }
  };
  const schedule = (): void => {
    if (stopped) return;
    timer = setTimeout(() => {
      current = once().then(schedule);
    }, everyMs).unref();
  };
  schedule();
  return async () => {
    stopped = true;
    clearTimeout(timer);
    await current;
  };
}

/** `uptime` is that coarse on some systems. A shorter sleep changes nothing. */
const SLEEP_LEAST_MS = 500;

interface Clocks {
  /** Stops while the machine sleeps, as `performance.now` does on Linux. */
  readonly awakeMs: () => number;
  /** Counts on meanwhile. Reading it is a system call. */
  readonly uptimeMs: () => number;
  /** Counts on meanwhile as well, costs nothing to read, and anyone may set it: it only says when to read the uptime. */
  readonly wallMs: () => number;
}

/** For how long the uptime is not read again while the wall clock goes on as the awake time does. */
const UPTIME_GOOD_MS = 100;

/** Makes a clock that is as fine as `awakeMs` and counts the sleep of the machine as well. */
export function countingSleep({ awakeMs, uptimeMs, wallMs }: Clocks): () => number {
  const beganMs = uptimeMs() - awakeMs();
  let sleptMs = 0;
  let readAt = Number.NEGATIVE_INFINITY;
  let wallAhead = 0;
  return () => {
    const awake = awakeMs();
    const ahead = wallMs() - awake;
    if (awake - readAt >= UPTIME_GOOD_MS || Math.abs(ahead - wallAhead) > SLEEP_LEAST_MS) {
      const aheadMs = uptimeMs() - awake - beganMs;
      if (aheadMs > sleptMs + SLEEP_LEAST_MS) sleptMs = aheadMs;
      readAt = awake;
      wallAhead = ahead;
    }
    return awake + sleptMs;
  };
}

/**
 * Returns milliseconds of a clock that no one can set and that counts while the machine sleeps. After a wake-up, `performance.now`
 * would call a lease valid that others have taken over.
 */
export const elapsedMs = countingSleep({
  awakeMs: () => performance.now(),
  uptimeMs: () => uptime() * 1000,
  wallMs: () => Date.now(),
});

/** What a worker does by itself and on behalf of all tenants. */
export const ofAll = (name: string): NamedWork => ({ tenant: 'default', name });

/** Does a chore of a worker, unless processes died with it too often: then it is left out. False: it was. */
export const maintenanceWork = (
  context: EngineContext,
  of: NamedWork,
  work: () => Promise<unknown>,
): Promise<boolean> => leftOut(context, of.name, () => counted(context.stepContext, of, work));

/** The same for work that counts by itself what it is made of. */
export async function leftOut({ log }: EngineContext, name: string, work: () => Promise<unknown>): Promise<boolean> {
  try {
    await work();
    return true;
  } catch (error) {
    if (!(error instanceof HoldfastError && error.code === 'work_crashes')) throw error;
    log.debug({ component: 'worker', event: 'work_left_out', work: name }, error.message);
    return false;
  }
}

/**
 * Work that the beat of a worker begins and does not wait for: one at a time, and waited for when the worker stops. `work` must not
 * throw.
 */
export function backgroundTask(work: (isStopping: () => boolean) => Promise<void>) {
  let current: Promise<void> | null = null;
  let stopped = false;
  return {
    begin(): void {
      if (stopped) return;
      current ??= work(() => stopped).then(() => {
        current = null;
      });
    },
    async stop(): Promise<void> {
      stopped = true;
      await current;
    },
  };
}
