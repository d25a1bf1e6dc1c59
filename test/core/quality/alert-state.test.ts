import { expect, test } from 'vitest';
import { alertRule, alertsConfig } from '../../../src/core/agents/alert-rules.js';
import { type AlertStanding, comparedOf, nextStanding, windowsOf } from '../../../src/core/quality/alert.js';

const MINUTE = 60_000;
const BEGIN: AlertStanding = { state: 'ok', sinceMs: 0, rightSinceMs: null };
const rule = (more: object) => alertRule.parse({ name: 'fall', measure: 'passRate', ...more });

/** The states after each look, one a minute. */
function states(of: ReturnType<typeof rule>, looks: readonly (number | null)[]): readonly string[] {
  let standing = BEGIN;
  return looks.map((compared, at) => {
    standing = nextStanding(of, standing, { compared, nowMs: at * MINUTE });
    return standing.state;
  });
}

test('an alert waits before it fires, and forgets what was too short', () => {
  const late = rule({ when: { type: 'threshold', below: 0.5 }, forMinutes: 2 });
  expect(states(late, [0.6, 0.4, 0.6, 0.4, 0.4, 0.4, 0.5])).toEqual([
    ...['ok', 'pending', 'ok', 'pending', 'pending', 'firing', 'ok'],
  ]);
  expect(states(rule({ when: { type: 'threshold', above: 0.3 } }), [0.3, 0.4, 0.3])).toEqual(['ok', 'firing', 'ok']);
});

test('an alert ends behind where it clears, and after the time for it', () => {
  const slow = rule({ when: { type: 'threshold', below: 0.5, clear: 0.7 }, clearForMinutes: 2 });
  expect(states(slow, [0.4, 0.6, 0.7, 0.6, 0.7])).toEqual(['firing', 'firing', 'firing', 'firing', 'ok']);
  expect(states(slow, [0.4, 0.7, 0.4, 0.7, 0.8, 0.9])).toEqual([
    ...['firing', 'firing', 'firing', 'firing', 'firing', 'ok'],
  ]);
});

test('without enough tasks a firing alert stays, and a pending one is none', () => {
  const late = rule({ when: { type: 'threshold', below: 0.5 }, forMinutes: 1 });
  expect(states(late, [0.4, null, 0.4, 0.4, null, null])).toEqual([
    ...['pending', 'ok', 'pending', 'firing', 'firing', 'firing'],
  ]);
});

test('compares a value, its change, or its distance from a moving median', () => {
  const change = rule({ when: { type: 'change', below: -0.2 } }).when;
  expect(comparedOf(change, [0.5, 0.8])).toBeCloseTo(-0.3, 12);
  expect(comparedOf(change, [0.5, null])).toBeNull();
  expect(comparedOf(change, [null, 0.5])).toBeNull();
  const anomaly = rule({ when: { type: 'anomaly', above: 4, windows: 5 } }).when;
  expect(windowsOf(anomaly)).toBe(6);
  // Median 11, absolute deviations 2 1 0 1 89: their median is 1. One window of 100 does not hide the next.
  expect(comparedOf(anomaly, [20, 9, 10, 11, 12, 100])).toBeCloseTo((20 - 11) / 1.4826, 3);
  expect(comparedOf(anomaly, [20, 10, null, null, 10])).toBeNull();
  // What hardly varies deviates by a hundredth of its median.
  expect(comparedOf(anomaly, [11, 10, 10, 10])).toBeCloseTo(10, 9);
});

test('a configuration says which rule is wrong', () => {
  const refused = (when: object) => alertsConfig.safeParse({ rules: [{ name: 'a', measure: 'tasks', when }] }).success;
  expect(refused({ type: 'threshold', above: 1 })).toBe(true);
  expect(refused({ type: 'threshold' })).toBe(false);
  expect(refused({ type: 'threshold', above: 1, below: 0 })).toBe(false);
  expect(refused({ type: 'threshold', above: 1, clear: 2 })).toBe(false);
  const twice = { name: 'a', measure: 'tasks', when: { type: 'threshold', above: 1 } } as const;
  expect(alertsConfig.safeParse({ rules: [twice, twice] }).success).toBe(false);
});
