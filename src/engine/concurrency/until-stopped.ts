const LOOK_MS = 200;

/** Does work with a signal that fires when the worker stops: no stop waits for an answer from elsewhere. */
export async function untilStopped<T>(
  isStopping: () => boolean,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const stopped = new AbortController();
  const watch = setInterval(() => isStopping() && stopped.abort(), LOOK_MS).unref();
  try {
    return await work(stopped.signal);
  } finally {
    clearInterval(watch);
  }
}
