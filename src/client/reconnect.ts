import { HoldfastError } from './failure.js';

interface Reconnecting<A> {
  readonly after: A;
  readonly signal: AbortSignal | undefined;
  /** 0: the first break is thrown. */
  readonly retryForMs: number;
}

const FIRST_WAIT_MS = 250;
const LONGEST_WAIT_MS = 5000;

/**
 * Opens a stream again where it broke, after the last event that was read. Throws the break when no connection gave anything
 * for `retryForMs`, and at once every error that another try would not mend.
 */
export async function* reconnecting<T extends object, A>(
  open: (after: A | number) => AsyncGenerator<T, void>,
  { after, signal, retryForMs }: Reconnecting<A>,
): AsyncGenerator<T, void> {
  let last: A | number = after;
  let brokenAt: number | null = null;
  let waitMs = FIRST_WAIT_MS;
  for (;;) {
    try {
      for await (const one of open(last)) {
        if ('seq' in one && typeof one.seq === 'number') last = one.seq;
        brokenAt = null;
        waitMs = FIRST_WAIT_MS;
        yield one;
        // What came with it was not asked for any more.
        signal?.throwIfAborted();
      }
      return;
    } catch (error) {
      if (signal?.aborted === true || !isAway(error)) throw error;
      brokenAt ??= Date.now();
      if (Date.now() + waitMs - brokenAt > retryForMs) throw error;
      await pause(waitMs, signal);
      waitMs = Math.min(2 * waitMs, LONGEST_WAIT_MS);
    }
  }
}

/** A server that restarts does not answer, or says that it is not ready. */
const isAway = (error: unknown): boolean => error instanceof HoldfastError && error.status === 503;

/** Throws the reason of a signal that fires meanwhile. */
async function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  await new Promise<void>((resolve) => {
    const timer = setTimeout(done, ms);
    signal?.addEventListener('abort', done, { once: true });
    function done(): void {
      clearTimeout(timer);
      signal?.removeEventListener('abort', done);
      resolve();
    }
  });
  signal?.throwIfAborted();
}
