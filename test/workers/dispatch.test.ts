import { afterEach, beforeEach, expect, it } from 'vitest';
import { WAKE_CHANNEL } from '../../src/engine/queue/segment-queue.js';
import { listenOn } from '../../src/storage/database/postgres/postgres-connections.js';
import { describePostgresSlowly } from '../harness/database.js';
import { paymentsOf } from './agents.js';
import { type Fleet, openFleet } from './fleet.js';

/** Limits of all workers together. */
describePostgresSlowly('workers under limits', () => {
  let fleet: Fleet;
  beforeEach(async () => {
    fleet = await openFleet();
  });
  afterEach(() => fleet.close());

  it('keep them together, also when one of them is killed, and stop for none', async () => {
    const TENANTS = JSON.stringify({ each: { concurrency: 3 } });
    const [north] = await Promise.all(
      ['north', 'south', 'west'].map((WORKER_ID) => fleet.start({ WORKER_ID, TENANTS, CONCURRENCY: '4' })),
    );
    const ids = await fleet.runs('payer', 12);
    let most = 0;
    const holders = new Set<string>();
    const watch = setInterval(() => {
      void fleet
        .knex('dbos.workflow_status')
        .where({ status: 'PENDING' })
        .pluck('executor_id')
        .then((found: string[]) => {
          most = Math.max(most, found.length);
          for (const id of found) holders.add(id);
        })
        .catch(() => undefined);
    }, 5);
    try {
      await expect.poll(() => fleet.paid().length).toBeGreaterThan(5);
      north?.kill('SIGKILL');
      expect((await fleet.finish(ids)).map(({ status }) => status)).toEqual(ids.map(() => 'completed'));
    } finally {
      clearInterval(watch);
    }
    expect(most).toBe(3);
    expect(holders.size).toBeGreaterThan(1);
    expect(fleet.paid().toSorted()).toEqual(paymentsOf(ids));
  });

  it('are told by each other of room below a limit', async () => {
    await fleet.start({ TENANTS: JSON.stringify({ each: { concurrency: 1 } }) });
    const told: string[] = [];
    const unlisten = await listenOn(fleet.databaseUrl, WAKE_CHANNEL, (payload) => void told.push(payload));
    try {
      await fleet.finish(await fleet.runs('looker', 1));
      // The run has one segment, which the process that takes no segments has put into the queue.
      await expect.poll(() => told).toContain('vm 1');
    } finally {
      await unlisten();
    }
  });
});
