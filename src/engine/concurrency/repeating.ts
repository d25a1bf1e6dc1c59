import type { EngineLog } from '../../core/ops/log-record.js';

export interface Repeating {
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
      log.warn(
        { component: 'worker', event: 'beat_failed', what, error: String(error) },
        'the beat of the worker failed; it is tried again',
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
