import { expect, test } from 'vitest';
import { compareShares, holm, studentTails, welch } from '../../../src/core/quality/comparison.js';

test("Student's tails are those of published tables", () => {
  for (const [t, freedom, p] of [
    [2.228138852, 10, 0.05],
    [12.7062047, 1, 0.05],
    [2, 10, 0.07338803],
    [-3.169273, 10, 0.01],
    [1.959963985, 1e7, 0.05],
    [0, 5, 1],
  ] as const)
    expect(studentTails(t, freedom)).toBeCloseTo(p, 6);
});

test("Welch's test is that of R, t.test(extra ~ group, sleep)", () => {
  const found = welch({ n: 10, mean: 0.75, variance: 3.200556 }, { n: 10, mean: 2.33, variance: 4.009 });
  expect(found).toMatchObject({ before: 0.75, after: 2.33 });
  expect(found.statistic).toBeCloseTo(1.8608, 4);
  expect(found.p).toBeCloseTo(0.07939, 5);
  expect(found.low).toBeCloseTo(-0.2054832, 5);
  expect(found.high).toBeCloseTo(3.3654832, 5);
});

test('samples that do not vary are the same or are not', () => {
  const of = (mean: number) => ({ n: 3, mean, variance: 0 });
  expect(welch(of(1), of(1))).toMatchObject({ statistic: null, p: 1, difference: 0 });
  expect(welch(of(1), { n: 3, mean: 1 + 1e-15, variance: 1e-30 })).toMatchObject({ statistic: null, p: 1 });
  expect(welch(of(1), of(0))).toMatchObject({ statistic: null, p: 0, difference: -1, low: -1, high: -1 });
});

test('two shares have the interval that Newcombe published for 56 of 70 and 48 of 80', () => {
  const found = compareShares({ n: 80, passed: 48 }, { n: 70, passed: 56 });
  expect(found.low).toBeCloseTo(0.0524, 4);
  expect(found.high).toBeCloseTo(0.3339, 4);
  expect(found.statistic).toBeCloseTo(2.65, 2);
  expect(found.p).toBeCloseTo(0.00805, 4);
  expect(compareShares({ n: 5, passed: 5 }, { n: 5, passed: 5 })).toMatchObject({ statistic: null, p: 1 });
});

test("several tests are adjusted by Holm's method: p.adjust(c(0.01, 0.04, 0.03, 0.5), 'holm') of R", () => {
  const of = (p: number) => ({
    measure: `p${p}`,
    before: 0,
    after: 0,
    difference: 0,
    low: 0,
    high: 0,
    statistic: 0,
    p,
  });
  const found = holm([0.01, 0.04, 0.03, 0.5].map(of));
  expect(found.map(({ adjustedP }) => Number(adjustedP.toFixed(6)))).toEqual([0.04, 0.09, 0.09, 0.5]);
  expect(found.map(({ drifted }) => drifted)).toEqual([true, false, false, false]);
});
