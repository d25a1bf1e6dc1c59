import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { RunningSegments } from '../../../src/engine/workers/running-segments.js';

const DAY_MS = 24 * 3_600_000;

describe('a limit of time', () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  it.each([1, 24 * DAY_MS, 25 * DAY_MS, 50 * DAY_MS, 366 * DAY_MS])('of %d ms stops a run then', (limitMs) => {
    const { signal } = new RunningSegments().watch('run_a', limitMs);
    vi.advanceTimersByTime(limitMs - 1);
    expect(signal.aborted).toBe(false);
    vi.advanceTimersByTime(2);
    expect(signal.reason).toBe('limit_wall_time');
  });

  it('that is over stops a run at once', () => {
    expect(new RunningSegments().watch('run_a', 0).signal.reason).toBe('limit_wall_time');
  });

  it('is forgotten with the run, however long it is', () => {
    const running = new RunningSegments();
    const { signal, release } = running.watch('run_a', 60 * DAY_MS);
    vi.advanceTimersByTime(30 * DAY_MS);
    release();
    expect(vi.getTimerCount()).toBe(0);
    vi.advanceTimersByTime(60 * DAY_MS);
    expect(signal.aborted).toBe(false);
  });
});
