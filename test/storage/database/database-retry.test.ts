import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { withDatabaseRetry } from '../../../steps/database-retry.js';

/** What workers ask of a database that is away, they ask again for as long as it is. */

const HOUR_MS = 3_600_000;

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

it.each(['ECONNREFUSED', '57P03', '53400', '53100'])('waits for hours until %s has passed', async (code) => {
  const until = Date.now() + 12 * HOUR_MS;
  let asked = 0;
  const work = async (): Promise<string> => {
    asked++;
    if (Date.now() < until) throw Object.assign(new Error('not now'), { code });
    return 'done';
  };
  const done = withDatabaseRetry(work);
  await vi.advanceTimersByTimeAsync(11 * HOUR_MS);
  const before = asked;
  await vi.advanceTimersByTimeAsync(60_000);
  // Between one and two pauses of at most five seconds each.
  expect(asked - before).toBeGreaterThanOrEqual(60 / 5 - 1);
  expect(asked - before).toBeLessThan(60);
  await vi.advanceTimersByTimeAsync(HOUR_MS);
  await expect(done).resolves.toBe('done');
});

it('throws at once what would come again, and what a closed pool says', async () => {
  for (const error of [
    Object.assign(new Error('duplicate key'), { code: '23505' }),
    new Error('Unable to acquire a connection'),
  ])
    await expect(withDatabaseRetry(() => Promise.reject(error))).rejects.toBe(error);
});
