import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { describePostgresSlowly } from '../harness/database.js';
import { ADMIN, dataOf } from '../harness/engine.js';
import { paymentsOf } from './agents.js';
import { type Fleet, openFleet } from './fleet.js';

const RUNS = 6;

/** What workers do when it is not they that fail. */
describePostgresSlowly('workers whose database', () => {
  let fleet: Fleet;
  beforeEach(async () => {
    fleet = await openFleet();
  });
  afterEach(() => fleet.close());

  const workers = () => Promise.all(['north', 'south'].map((id) => fleet.start({ WORKER_ID: id })));

  /** Every run ends, every payment is made once, no one was asked, and each worker is the one that it was. */
  const expectUntouched = async (ids: readonly string[]): Promise<void> => {
    const ended = await fleet.finish(ids);
    expect(ended.flatMap(({ error }) => error ?? [])).toEqual([]);
    expect(ended.map(({ status }) => status)).toEqual(ids.map(() => 'completed'));
    expect(fleet.paid().toSorted()).toEqual(paymentsOf(ids));
    const asked = await Promise.all(ids.map((id) => dataOf(fleet.engine, id, 'call.unknown')));
    expect(asked.flat()).toEqual([]);
    for (const id of ids) expect(await fleet.engine.verifyRun(id, ADMIN)).toMatchObject({ ok: true, complete: true });
    // Behind such lines a heartbeat may be late for a moment; no one takes a worker over for that.
    for (const id of ['north', 'south'])
      await expect.poll(() => fleet.engine.getWorker(id)).toMatchObject({ status: 'working', epoch: 1 });
  };

  const LOCK_LOST = /the connection that holds the lock of this worker was lost/;
  it.each([
    ['is restarted', 300, [LOCK_LOST]],
    ['is away for a whole minute', 60_000, [LOCK_LOST, /the database is away|the beat of the worker failed/]],
  ])('%s wait for it, say so, and go on', { timeout: 150_000 }, async (_what, awayMs, says) => {
    const waiting = await workers();
    const ids = await fleet.runs('payer', RUNS);
    await expect.poll(() => fleet.paid().length, { timeout: 20_000, interval: 20 }).toBeGreaterThan(2);
    fleet.network.cut();
    await sleep(awayMs);
    fleet.network.heal();
    await expectUntouched(ids);
    for (const { said } of waiting) for (const what of says) expect(said).toMatch(what);
  });

  it('is lost again and again go on', async () => {
    await workers();
    const ids = await fleet.runs('payer', RUNS);
    for (let n = 0; n < 8; n++) {
      await sleep(150);
      fleet.network.cut();
      await sleep(50);
      fleet.network.heal();
    }
    await expectUntouched(ids);
  });

  it('is away for them alone are taken over, and end when they find out', { timeout: 150_000 }, async () => {
    // Only a worker that has a segment is taken over, so that neither may take them all.
    const CONCURRENCY = `${RUNS / 2}`;
    const cutOff = await Promise.all(['north', 'south'].map((id) => fleet.start({ WORKER_ID: id, CONCURRENCY })));
    const ids = await fleet.runs('clerk', RUNS);
    await expect.poll(atWork, { timeout: 20_000, interval: 20 }).toEqual(['north', 'south']);
    fleet.network.cut();
    await fleet.start({ WORKER_ID: 'west', DATABASE_URL: fleet.databaseUrl });
    await expect.poll(isTakenOver).toBe(true);
    fleet.network.heal();
    for (const { ended } of cutOff) expect(await ended).toBe(1);
    // The one that was cut off in the middle of a payment may have made it.
    expect((await fleet.finish(ids)).map(({ status }) => status)).toEqual(ids.map(() => 'completed'));
    expect(fleet.paid().toSorted()).toEqual(paymentsOf(ids));
  });
  const atWork = async (): Promise<string[]> => {
    const pending = fleet.knex('dbos.workflow_status').where({ status: 'PENDING' });
    return pending.distinct('executor_id').orderBy('executor_id').pluck('executor_id');
  };
  const isTakenOver = async (): Promise<boolean> => {
    const rows: { epoch: number }[] = await fleet.knex('holdfast.workers').whereIn('id', ['north', 'south']);
    return rows.every(({ epoch }) => epoch > 1);
  };

  it('is far away work', async () => {
    fleet.network.delay(20);
    await workers();
    await expectUntouched(await fleet.runs('payer', 2));
  });

  it('is behind a bad line work: up to 200 ms for each piece, and 100 KB a second', { timeout: 150_000 }, async () => {
    await workers();
    fleet.network.delay(0, 200);
    fleet.network.narrow(100_000);
    await expectUntouched(await fleet.runs('payer', 2));
  });
});
