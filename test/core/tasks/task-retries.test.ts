import { expect, it } from 'vitest';
import { isRetried, retryAfterMs, taskRetries } from '../../../src/core/tasks/task-retries.js';

const terms = taskRetries.parse({ most: 5, firstMs: 100, longestMs: 1000 });
const after = (taskId: string) =>
  [1, 2, 3, 4, 5].map((attempt) => retryAfterMs(terms, { taskId, attempt }) ?? Number.NaN);

it('waits twice as long for each attempt, up to a bound, and between half of that and all', () => {
  const fulls = [100, 200, 400, 800, 1000];
  for (const id of ['task_a', 'task_b', 'task_c', 'task_d'])
    for (const [index, ms] of after(id).entries()) {
      const full = fulls[index] ?? 0;
      expect(ms).toBeGreaterThanOrEqual(full / 2);
      expect(ms).toBeLessThanOrEqual(full);
    }
});

it('waits the same for the same attempt of a task, and another time for others', () => {
  expect(after('task_a')).toEqual(after('task_a'));
  const waits = Array.from({ length: 50 }, (_, n) => retryAfterMs(terms, { taskId: `task_${n}`, attempt: 4 }));
  expect(new Set(waits).size).toBeGreaterThan(30);
});

it('ends when its attempts are used up, however many there were', () => {
  expect(retryAfterMs(terms, { taskId: 'task_a', attempt: 6 })).toBeNull();
  expect(retryAfterMs({ ...terms, most: 0 }, { taskId: 'task_a', attempt: 1 })).toBeNull();
  expect(retryAfterMs({ ...terms, most: 100 }, { taskId: 'task_a', attempt: 100 })).toBeLessThanOrEqual(1000);
});

it('terms have defaults, and a first wait that is no longer than the longest', () => {
  expect(taskRetries.parse({})).toEqual({ most: 2, firstMs: 5000, longestMs: 300_000 });
  for (const wrong of [{ most: -1 }, { most: 101 }, { firstMs: 0 }, { firstMs: 10, longestMs: 9 }, { more: 1 }])
    expect(taskRetries.safeParse(wrong).success).toBe(false);
});

it('only what was around the agent is tried again', () => {
  expect(['engine_unreachable', 'environment_lost', 'limit_crashes', 'model_failed'].filter(isRetried)).toHaveLength(4);
  const own = [
    'image_unknown',
    'task_invalid',
    'capability_denied',
    'limit_turns',
    'limit_budget',
    'run_failed',
    'model_refused',
  ];
  expect(own.filter(isRetried)).toEqual([]);
});
