/** For so long one piece of work may keep everything else of its process waiting. */
const SLICE_MS = 10;

const waiting: (() => void)[] = [];
let since = performance.now();

/**
 * To be asked again and again by work that takes long: lets everything else of the process have its turn when the work has had its own.
 * The one that works so beside it has a turn of the event loop of its own, so that nothing waits for all of them. Throws the reason of the
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

/** Waits for something at most so long; what comes later, also a failure, is no one's business any more. */
export async function within(timeoutMs: number, work: Promise<unknown>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, timeoutMs);
  });
  try {
    await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
    work.catch(() => {});
  }
}

/** How long a clean end of connections may take. */
export const END_WITHIN_MS = 2_000;

/** What a piece of work gives. Throws `timeout expired` when that takes longer, as the driver does. */
export async function inTime<T>(timeoutMs: number, work: () => Promise<T>): Promise<T> {
  const began = work();
  let isOver = false;
  const over = began.finally(() => {
    isOver = true;
  });
  await within(
    timeoutMs,
    over.catch(() => undefined),
  );
  if (!isOver) throw new Error('timeout expired');
  return began;
}
