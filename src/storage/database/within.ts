/** Waits for something at most so long; what comes later, also a failure, is nobody's business any more. */
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
