import { expect, it } from 'vitest';
import { dueItems } from '../../../src/engine/concurrency/due-items.js';

/** Due items of a store in memory: numbers, the least is due for longest. Those of `broken` fail. */
function store(count: number, broken: (n: number) => boolean, againAfterMs?: number) {
  const due = new Set(Array.from({ length: count }, (_, n) => n));
  const told: number[] = [];
  const trouble = { now: false };
  const go = dueItems<number>({
    atOnce: 10,
    find: async (except, limit) => [...due].filter((n) => !except.includes(String(n))).slice(0, limit),
    idOf: String,
    work: async (n) => {
      if (trouble.now) throw Object.assign(new Error('terminating connection'), { code: '57P01' });
      if (broken(n)) throw new Error(`${n} is broken`);
      due.delete(n);
    },
    failed: (n) => void told.push(n),
    ...(againAfterMs === undefined ? {} : { againAfterMs }),
  });
  return { due, told, trouble, go: () => go(() => false) };
}

it('what fails holds up nothing that is due after it, and is told once', async () => {
  const { due, told, go } = store(45, (n) => n < 25);
  await go();
  expect([...due]).toEqual(Array.from({ length: 25 }, (_, n) => n));
  await go();
  expect(told).toEqual([...due]);
});

it('what failed is worked off again after its time', async () => {
  let isBroken = true;
  const { due, told, go } = store(3, () => isBroken, 0);
  await go();
  isBroken = false;
  await go();
  expect([told, due.size]).toEqual([[0, 1, 2], 0]);
});

it('trouble of the database ends the go, and makes nothing wait', async () => {
  const { due, told, trouble, go } = store(3, () => false);
  trouble.now = true;
  await expect(go()).rejects.toThrow('terminating connection');
  trouble.now = false;
  await go();
  expect([told, due.size]).toEqual([[], 0]);
});
