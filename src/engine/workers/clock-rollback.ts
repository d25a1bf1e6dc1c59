import type { EngineContext } from '../engine-context.js';

/** Smaller steps delay nothing by much. */
const STEP_MS = 500;

/**
 * Looks, whenever it is called, whether the time of day of this process was set back, and wakes the dispatcher then: DBOS looks
 * for work by itself at times of day, and would next do so when it is as late again as it was.
 */
export function detectClockRollback({ stepContext }: EngineContext): () => void {
  const offsetMs = (): number => Date.now() - performance.now();
  let last = offsetMs();
  return () => {
    const now = offsetMs();
    if (now < last - STEP_MS) stepContext.queue.wake();
    last = now;
  };
}
