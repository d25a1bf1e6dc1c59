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
