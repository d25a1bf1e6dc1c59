/** For so long one piece of work may keep everything else of its process waiting. */
const SLICE_MS = 10;

const waiting: (() => void)[] = [];
let since = performance.now();

/**
 * To be asked again and again by work that takes long: lets everything else of the process have its turn when the work has had its own.
 * Whoever works so beside it has a turn of the event loop of its own, so that nothing waits for all of them. Throws the reason of the
 * signal when it has fired.
 */
export async function breathe(signal?: AbortSignal): Promise<void> {
  signal?.throwIfAborted();
  if (performance.now() - since < SLICE_MS) return;
  await new Promise<void>((resolve) => {
    if (waiting.push(resolve) === 1) setImmediate(next);
  });
  signal?.throwIfAborted();
}

/** Does work that stops again and again on its way. */
export async function inBreaths<T>(work: Iterator<void, T>, signal?: AbortSignal): Promise<T> {
  for (;;) {
    const { done, value } = work.next();
    if (done === true) return value;
    await breathe(signal);
  }
}

function next(): void {
  since = performance.now();
  waiting.shift()?.();
  if (waiting.length > 0) setImmediate(next);
}
