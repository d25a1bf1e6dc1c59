import { expect, it } from 'vitest';
import { HEARTBEAT_OLD_MS } from '../../../src/core/queue/worker.js';
import { countingSleep, elapsedMs } from '../../../src/engine/concurrency/repeated-work.js';
import { DatabaseClock } from '../../../src/engine/ops/database-clock.js';
import { WorkerLease } from '../../../src/engine/workers/worker-lease.js';
import { openDatabase } from '../../../src/storage/database/open-database.js';
import { createTestDatabase } from '../../harness/database.js';

const HOUR_MS = 3_600_000;
const NEAR_MS = 10_000;

/** A machine that sleeps when the test says so: the system counts that in its uptime alone. */
function machine() {
  let sleptMs = 0;
  const awakeMs = () => performance.now();
  return {
    elapsed: countingSleep({ awakeMs, uptimeMs: () => awakeMs() + sleptMs, wallMs: () => awakeMs() + sleptMs }),
    sleep: (ms: number): void => {
      sleptMs += ms;
    },
  };
}

it('a lease is over when the machine wakes, and the process asks before it does anything', async () => {
  const { elapsed, sleep } = machine();
  const lease = new WorkerLease(async () => false, elapsed);
  lease.renew(elapsed());
  expect(await lease.isHeld()).toBe(true);
  sleep(HEARTBEAT_OLD_MS);
  expect(await lease.isHeld()).toBe(false);
});

it('the time of a log is that of the database as soon as the machine wakes', async () => {
  const made = await createTestDatabase('pglite');
  const database = await openDatabase(made.options);
  const { elapsed, sleep } = machine();
  const clock = await DatabaseClock.open(database.knex, elapsed);
  const before = clock.now();
  sleep(HOUR_MS);
  expect(Math.abs(clock.now() - before - HOUR_MS)).toBeLessThan(NEAR_MS);
  await clock.look(database.knex);
  expect(Math.abs(clock.now() - before)).toBeLessThan(NEAR_MS);
  await database.close();
  await made.drop();
});

it('a coarse uptime moves the clock by nothing', () => {
  let now = 0;
  const elapsed = countingSleep({ awakeMs: () => now, uptimeMs: () => Math.round(now / 400) * 400, wallMs: () => now });
  for (now = 0; now < 10_000; now += 7) expect(elapsed()).toBe(now);
});

it('the clock of this process goes on with that of the system', () => {
  expect(Math.abs(elapsedMs() - performance.now())).toBeLessThan(HOUR_MS);
});

it('the uptime is read ten times a second, and at once when the wall clock jumps', () => {
  let now = 0;
  let slept = 0;
  let wallSet = 0;
  let reads = 0;
  const elapsed = countingSleep({
    awakeMs: () => now,
    uptimeMs: () => {
      reads++;
      return now + slept;
    },
    wallMs: () => now + slept + wallSet,
  });
  for (now = 0; now < 1000; now++) elapsed();
  expect(reads).toBe(11);
  slept = HOUR_MS;
  expect(elapsed()).toBe(now + HOUR_MS);
  wallSet = -HOUR_MS;
  expect(elapsed()).toBe(now + HOUR_MS);
});

it('a wall clock that is set back while the machine sleeps hides the sleep for a tenth of a second at most', () => {
  let now = 0;
  let slept = 0;
  const elapsed = countingSleep({ awakeMs: () => now, uptimeMs: () => now + slept, wallMs: () => now });
  elapsed();
  slept = HOUR_MS;
  now = 100;
  expect(elapsed()).toBe(now + HOUR_MS);
});
