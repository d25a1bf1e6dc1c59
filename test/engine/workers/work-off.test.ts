import { expect, it } from 'vitest';
import { workOff } from '../../../src/engine/concurrency/work-off.js';

/** Work of so many batches, each of which takes so long, on a clock of its own. */
function worldOf({ batches, tookMs, busy }: { batches: number; tookMs: number; busy: boolean }) {
  let now = 0;
  let left = batches;
  const rests: number[] = [];
  return {
    rests,
    left: () => left,
    due: {
      batch: async () => {
        now += tookMs;
        left--;
        return left > 0;
      },
      isBusy: () => busy,
      isStopping: () => false,
      now: () => now,
      rest: async (ms: number) => void rests.push(ms),
    },
  };
}

it('all that is due is done in one go, with rests of twice the work while runs work', async () => {
  const world = worldOf({ batches: 40, tookMs: 30, busy: true });
  await workOff(world.due);
  expect(world.left()).toBe(0);
  expect(world.rests).toEqual(Array.from({ length: 39 }, () => 60));
});

it('a process without runs does not rest', async () => {
  const world = worldOf({ batches: 40, tookMs: 30, busy: false });
  await workOff(world.due);
  expect(world.left()).toBe(0);
  expect(world.rests).toEqual([]);
});

it('a rest is a second at most, and a stop ends the work after its batch', async () => {
  const world = worldOf({ batches: 40, tookMs: 5000, busy: true });
  let stopping = false;
  await workOff({
    ...world.due,
    isStopping: () => stopping,
    rest: async (ms) => {
      world.rests.push(ms);
      stopping = world.rests.length === 3;
    },
  });
  expect(world.rests).toEqual([1000, 1000, 1000]);
  expect(world.left()).toBe(37);
});
