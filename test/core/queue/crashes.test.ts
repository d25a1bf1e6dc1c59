import { expect, it } from 'vitest';
import { isGivenUp, suspectWaitsMs } from '../../../src/core/queue/worker.js';

it.each([
  // Deaths, of which alone, the limit, and whether the run ends.
  [4, 2, 5, false],
  [5, 3, 5, true],
  [5, 0, 5, false],
  [24, 2, 5, false],
  [25, 0, 5, true],
  [2, 0, 1, false],
  [3, 1, 1, true],
  [5, 0, 1, true],
])('%i deaths, %i of them alone, with a limit of %i: %s', (crashes, alone, limit, ends) => {
  expect(isGivenUp({ crashes, alone }, limit)).toBe(ends);
});

it('a suspect waits longer after each death alone', () => {
  expect([0, 1, 2].map((alone) => suspectWaitsMs({ crashes: 5, alone }))).toEqual([0, 5000, 10_000]);
});
