import { expect, it } from 'vitest';
import { priorityOf, schedulingConfig } from '../../../src/core/tasks/scheduling.js';

const HOUR = 3_600_000;
const start = Date.UTC(2026, 5, 1);
const scheduling = schedulingConfig.parse({ weights: { difficulty: 24, category: 48, age: 1 } });
const counts = new Map([
  ['common', 10],
  ['seldom', 5],
]);
const at = (hours: number, difficulty: 'easy' | 'medium' | 'hard' | 'expert', category = 'common') =>
  priorityOf(scheduling, { difficulty, category }, counts, start + hours * HOUR);

it('what is harder, of a rarer category or older begins earlier', () => {
  const all = [at(0, 'easy'), at(0, 'medium'), at(0, 'hard'), at(0, 'expert')];
  expect(all.toSorted((a, b) => b - a)).toEqual(all);
  expect([at(0, 'easy') - at(0, 'expert'), at(0, 'easy') - at(0, 'easy', 'seldom')]).toEqual([24, 24]);
  expect(at(0, 'easy') - at(0, 'easy', 'never seen')).toBe(48);
  // A day of waiting is worth what an expert task is.
  expect([at(24, 'expert'), at(23, 'expert') < at(0, 'easy'), at(25, 'expert') > at(0, 'easy')]).toEqual([
    ...[at(0, 'easy'), true, true],
  ]);
});

it('is a priority whatever the weights and times are', () => {
  const most = schedulingConfig.parse({ weights: { difficulty: 1000, category: 1000, age: 10 } });
  const of = (nowMs: number) => priorityOf(most, { difficulty: 'expert', category: 'new' }, counts, nowMs);
  expect([of(0), of(Date.UTC(2026, 0, 1)), of(Date.UTC(2300, 0, 1))]).toEqual([1, 1, 1_000_000]);
  const none = schedulingConfig.parse({ weights: { age: 0 } });
  expect(priorityOf(none, { difficulty: 'expert', category: 'a' }, new Map(), start)).toBe(2001);
  expect(schedulingConfig.safeParse({ weights: { age: -1 } }).success).toBe(false);
  expect(schedulingConfig.safeParse({ weights: { urgency: 1 } }).success).toBe(false);
});
