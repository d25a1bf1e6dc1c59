import { expect, test } from 'vitest';
import { HEARTBEAT_OLD_MS } from '../../../src/core/queue/worker.js';
import { LEASE_MS, WorkerLease } from '../../../src/engine/workers/worker-lease.js';

/** A lease whose questions take as long as the test says. */
function leaseOf(answers: readonly { readonly owner: boolean; readonly tookMs: number }[]) {
  let now = 0;
  let asked = 0;
  const isOwner = async (): Promise<boolean> => {
    const { owner, tookMs } = answers[asked++] ?? { owner: false, tookMs: 0 };
    now += tookMs;
    return owner;
  };
  const lease = new WorkerLease(isOwner, () => now);
  return {
    lease,
    asked: () => asked,
    passes: (ms: number): void => {
      now += ms;
    },
  };
}

test('a lease ends before others may take the worker over, and until then no one is asked', async () => {
  const { lease, asked, passes } = leaseOf([{ owner: true, tookMs: 1 }]);
  lease.renew(0);
  passes(LEASE_MS - 1);
  expect(await lease.isHeld()).toBe(true);
  expect(asked()).toBe(0);
  passes(1);
  expect(await lease.isHeld()).toBe(true);
  expect(asked()).toBe(1);
  expect(LEASE_MS).toBeLessThan(HEARTBEAT_OLD_MS);
});

test('a process that was suspended while the database answered asks again', async () => {
  const { lease, asked } = leaseOf([
    { owner: true, tookMs: 20_000 },
    { owner: false, tookMs: 1 },
  ]);
  expect(await lease.confirm()).toBe(false);
  expect(asked()).toBe(2);
});

test('a database that answers too late every time is not asked without end', async () => {
  const late = { owner: true, tookMs: HEARTBEAT_OLD_MS };
  const { lease, asked } = leaseOf(Array.from({ length: 100 }, () => late));
  expect(await lease.confirm()).toBe(false);
  expect(asked()).toBe(10);
});
