import { expect, it } from 'vitest';
import { seededRandom } from '../../src/core/seeded-random.js';

it('gives the same numbers for the same seed, forever', () => {
  const take = (seed: string) => {
    const random = seededRandom(seed);
    return [random(), random(), random()];
  };
  expect(take('run:call')).toEqual(take('run:call'));
  expect(take('run:call')).not.toEqual(take('run:call2'));
  expect(take('run:call')).toEqual([0.9965598872358492, 0.8349630038149286, 0.6097532719509409]);
});

it('gives numbers in [0, 1) that spread evenly', () => {
  const random = seededRandom('spread');
  const numbers = Array.from({ length: 20_000 }, random);
  expect(numbers.every((number) => number >= 0 && number < 1)).toBe(true);
  const mean = numbers.reduce((sum, number) => sum + number, 0) / numbers.length;
  expect(Math.abs(mean - 0.5)).toBeLessThan(0.01);
});
