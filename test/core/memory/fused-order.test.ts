import fc from 'fast-check';
import { expect, test } from 'vitest';
import { fusedOrder } from '../../../src/core/memory/search-plan.js';
import { bytesOfVector, distanceTo, readVectors, signsOf, vectorOf } from '../../../src/core/memory/vectors.js';

const list = fc.uniqueArray(fc.constantFrom(...'abcdefghij'), { maxLength: 10 });

test('two lists become one, by the sum of their places, then the key', () => {
  expect(
    fusedOrder(
      [
        ['a', 'b'],
        ['c', 'b'],
      ],
      10,
    ),
  ).toEqual(['b', 'a', 'c']);
  expect(fusedOrder([[], ['c', 'b', 'a']], 2)).toEqual(['c', 'b']);
  fc.assert(
    fc.property(list, list, fc.integer({ min: 1, max: 12 }), (words, near, limit) => {
      const fused = fusedOrder([words, near], limit);
      // Which list comes first does not matter, and fewer are the first of more.
      expect(fused).toEqual(fusedOrder([near, words], limit));
      expect(fused).toEqual(fusedOrder([words, near], 20).slice(0, limit));
      expect([...fusedOrder([words, near], 20)].sort()).toEqual([...new Set([...words, ...near])].sort());
      const placeIn = (keys: readonly string[], key: string) => (keys.includes(key) ? 1 / (61 + keys.indexOf(key)) : 0);
      const score = (key: string) => placeIn(words, key) + placeIn(near, key);
      for (const [at, key] of fused.entries()) {
        const next = fused[at + 1];
        if (next === undefined) continue;
        expect(score(key) > score(next) || (score(key) === score(next) && key < next)).toBe(true);
      }
    }),
  );
});

const numbers = fc.array(fc.float({ min: -1, max: 1, noNaN: true }), { minLength: 8, maxLength: 8 });

test('a vector has the length one, and its bytes say the same distance', () => {
  fc.assert(
    fc.property(numbers, numbers, (one, other) => {
      const [a, b] = [vectorOf(one, 8), vectorOf(other, 8)];
      fc.pre(a !== null && b !== null);
      expect(distanceTo(a, bytesOfVector(a))).toBeCloseTo(0, 5);
      expect(distanceTo(a, bytesOfVector(b))).toBe(distanceTo(b, bytesOfVector(a)));
      expect(signsOf(a)).toMatch(/^[01]{8}$/);
    }),
  );
});

test('a longer vector is cut, and one that is none is refused', () => {
  expect(vectorOf([3, 4, 12], 2)).toEqual(Float32Array.of(0.6, 0.8));
  expect(vectorOf([3], 2)).toBeNull();
  expect(vectorOf([0, 0, 1], 2)).toBeNull();
  expect(vectorOf([Number.NaN, 1], 2)).toBeNull();
  expect(vectorOf([Number.POSITIVE_INFINITY, 1], 2)).toBeNull();
});

test('distances are computed to fewer documents where vectors are long', () => {
  expect([8, 384, 400, 768, 1536, 2000, 8192].map(readVectors)).toEqual([1000, 1000, 1000, 520, 260, 200, 200]);
});
