import { expect, it } from 'vitest';
import { slopeOf } from './slope.js';

const points = (values: readonly number[]) => values.map((value, n) => ({ hours: n / 10, value }));

it('says by how much a figure grows in an hour, whatever single points say', () => {
  expect(slopeOf(points([1, 2, 3, 4, 5]))).toBeCloseTo(10);
  expect(slopeOf(points([5, 5, 5, 5, 90, 5]))).toBe(0);
  expect(slopeOf(points([10, 9, 8, 900, 6]))).toBeCloseTo(-10);
});

it('says that what has one moment, or none, does not grow', () => {
  expect([slopeOf([]), slopeOf(points([7])), slopeOf([...points([7]), ...points([8])])]).toEqual([0, 0, 0]);
});
