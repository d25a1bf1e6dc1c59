import { afterEach, beforeEach, expect, it } from 'vitest';
import { describePostgresSlowly } from '../harness/database.js';
import { type Fleet, openFleet } from './fleet.js';
import type { WorkerProcess } from './worker-process.js';

/** Which run is blamed for the death of a worker. */
describePostgresSlowly('a run whose workers are killed', () => {
  let fleet: Fleet;
  beforeEach(async () => {
    fleet = await openFleet();
  });
  afterEach(() => fleet.close());

  const crashes = async () => fleet.knex('holdfast.crashes').select('run_id', 'crashes', 'alone');
  /** Starts a worker; waits until it has begun the step of the run, or until it has the run and has not begun. */
  const startUntil = async (when: 'begun' | 'taken'): Promise<WorkerProcess> => {
    const before = fleet.begun();
    const worker = await fleet.start({ WORKER_ID: 'north' });
    const at = async () =>
      when === 'begun'
        ? fleet.begun() > before
        : (await fleet.knex('dbos.workflow_status').where({ status: 'PENDING', executor_id: 'north' })).length > 0;
    await expect.poll(at, { timeout: 60_000, interval: 20 }).toBe(true);
    return worker;
  };
  const kill = async (worker: WorkerProcess): Promise<void> => {
    worker.kill('SIGKILL');
    expect(await worker.ended).toBe('SIGKILL');
  };

  it('after they were asked to stop is not blamed, however often', { timeout: 240_000 }, async () => {
    const [id = ''] = await fleet.runs('waiter', 1);
    for (let n = 0; n < 6; n++) {
      const worker = await startUntil('begun');
      worker.kill('SIGTERM');
      const isLeaving = () => fleet.knex('holdfast.workers').where({ id: 'north' }).first('leaving_at');
      await expect.poll(isLeaving, { interval: 20 }).toMatchObject({ leaving_at: expect.any(Date) });
      await kill(worker);
    }
    await fleet.start({ WORKER_ID: 'north' });
    await expect.poll(async () => (await fleet.engine.getWorker('north')).running).toBe(1);
    expect(await crashes()).toEqual([]);
    fleet.letGo();
    expect(await fleet.finish([id])).toMatchObject([{ status: 'completed' }]);
  });

  it('from outside, also while it has begun nothing, goes on', { timeout: 240_000 }, async () => {
    const [id = ''] = await fleet.runs('waiter', 1);
    // From the third time on it is alone; after that it waits before it begins.
    const whens = ['begun', 'begun', 'begun', 'taken', 'begun', 'taken', 'begun', 'taken'] as const;
    for (const when of whens) await kill(await startUntil(when));
    await fleet.start({ WORKER_ID: 'north' });
    await expect.poll(async () => (await fleet.engine.getWorker('north')).running).toBe(1);
    expect(await crashes()).toEqual([{ run_id: id, crashes: whens.length, alone: 0 }]);
    fleet.letGo();
    expect(await fleet.finish([id])).toMatchObject([{ status: 'completed' }]);
  });

  it('as another one without it is not blamed for the deaths before', { timeout: 240_000 }, async () => {
    const [id = ''] = await fleet.runs('waiter', 1);
    for (let n = 0; n < 4; n++) await kill(await startUntil('begun'));
    // The place of a worker that was killed is taken again, which counts its death.
    await startUntil('taken');
    expect(await crashes()).toEqual([{ run_id: id, crashes: 4, alone: 2 }]);
    await kill(await fleet.start({ WORKER_ID: 'south' }));
    await fleet.start({ WORKER_ID: 'south' });
    expect(await crashes()).toEqual([{ run_id: id, crashes: 4, alone: 0 }]);
    fleet.letGo();
    expect(await fleet.finish([id])).toMatchObject([{ status: 'completed' }]);
  });
});
