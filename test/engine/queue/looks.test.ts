import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { DispatchWaker } from '../../../src/engine/queue/segment-queue.js';

describe('the looks that follow on a wake', () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  it('are one at once, and more until the dispatcher has looked', async () => {
    const look = vi.fn();
    const looks = new DispatchWaker(look);
    looks.wake();
    expect(look).toHaveBeenCalledTimes(1);
    await vi.advanceTimersByTimeAsync(2 + 8);
    expect(look).toHaveBeenCalledTimes(3);
    looks.taken();
    await vi.advanceTimersByTimeAsync(10_000);
    expect(look).toHaveBeenCalledTimes(3);
  });

  it('begin again for what came while the dispatcher was looking', async () => {
    const look = vi.fn();
    const looks = new DispatchWaker(look);
    looks.wake();
    looks.taken();
    looks.wake();
    await vi.advanceTimersByTimeAsync(2);
    expect(look).toHaveBeenCalledTimes(3);
  });

  it('come to an end where there is never room', async () => {
    const look = vi.fn();
    new DispatchWaker(look).wake();
    await vi.advanceTimersByTimeAsync(10_000);
    expect(look).toHaveBeenCalledTimes(6);
  });
});
