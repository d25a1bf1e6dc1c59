import { afterEach, beforeEach, expect, it } from 'vitest';
import { describePostgresSlowly } from '../harness/database.js';
import { ADMIN } from '../harness/engine.js';
import { type Fleet, openFleet } from './fleet.js';

/** A worker finds out at its next heartbeat that a run of it was cancelled elsewhere; what it does until then must not matter. */
describePostgresSlowly('runs that are cancelled in another process', () => {
  let fleet: Fleet;
  beforeEach(async () => {
    fleet = await openFleet();
  });
  afterEach(() => fleet.close());

  it('are cancelled, also where they start a run below them in this moment', async () => {
    await fleet.start({ WORKER_ID: 'north' });
    const ids = await fleet.runs('lead', 6);
    const isAtWork = async () => (await fleet.engine.getRun(ids.at(-1) ?? '', ADMIN)).status;
    await expect.poll(isAtWork, { timeout: 20_000, interval: 10 }).toBe('running');
    for (const id of ids) await fleet.engine.cancelRun(id, null, ADMIN);
    const ended = await fleet.finish(ids);
    expect(ended.map(({ status }) => status)).toEqual(ids.map(() => 'cancelled'));
    const below = async () => (await fleet.engine.listRuns({ agent: 'looker', limit: 10 }, ADMIN)).items;
    const statuses = async () => (await below()).map(({ status }) => status);
    // One that was started just before is asked to stop as its lead is.
    await expect
      .poll(statuses, { timeout: 20_000 })
      .toSatisfy((seen) => seen.every((one: string) => one === 'cancelled'));
  });
});
