const MB = 1024 * 1024;

/** Watches the memory of this process from now on. The function that it returns ends that, with the megabytes that were added at most. */
export function peakMemory(): () => number {
  (globalThis as { gc?: () => void }).gc?.();
  const before = process.memoryUsage().rss;
  let most = before;
  const watch = setInterval(() => {
    most = Math.max(most, process.memoryUsage().rss);
  }, 20);
  return () => {
    clearInterval(watch);
    return Math.max(0.1, (most - before) / MB);
  };
}
