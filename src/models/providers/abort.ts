/** The error of a model call that its caller gave up: always named `AbortError`, with the signal's reason as its cause. */
export function abortError(signal: AbortSignal): Error {
  const reason: unknown = signal.reason;
  if (reason instanceof Error && reason.name === 'AbortError') return reason;
  const error = new Error('The model call was aborted.', { cause: reason });
  error.name = 'AbortError';
  return error;
}

export function throwIfAborted(signal: AbortSignal | undefined): void {
  if (signal?.aborted === true) throw abortError(signal);
}

/** Throws the `AbortError` as soon as the signal fires; work that ignores it is left behind. */
export function unlessAborted<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return work;
  return new Promise((resolve, reject) => {
    const abort = (): void => reject(abortError(signal));
    if (signal.aborted) return abort();
    signal.addEventListener('abort', abort, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort));
  });
}

/** The longest time of one timer: beyond it Node's fire at once. */
const PIECE_MS = 2 ** 31 - 1;

/** Waits, or throws the `AbortError` as soon as the signal fires. */
export async function wait(ms: number, signal: AbortSignal | undefined): Promise<void> {
  for (let left = ms; left > 0; left -= PIECE_MS) await waitPiece(Math.min(left, PIECE_MS), signal);
}

async function waitPiece(ms: number, signal: AbortSignal | undefined): Promise<void> {
  throwIfAborted(signal);
  await new Promise<void>((resolve, reject) => {
    const onAbort = () => {
      clearTimeout(timer);
      if (signal !== undefined) reject(abortError(signal));
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', onAbort);
      resolve();
    }, ms);
    signal?.addEventListener('abort', onAbort, { once: true });
  });
}
