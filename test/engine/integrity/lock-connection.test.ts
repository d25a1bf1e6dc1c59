import { Agent } from '@openai/agents';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { becomeWorker } from '../../../src/engine/workers/worker.js';
import { createEngine, type Engine } from '../../../src/index.js';
import type { Database } from '../../../src/storage/database/database.js';
import { openDatabase } from '../../../src/storage/database/open-database.js';
import { createEngineDatabase, describePostgres, type TestDatabase } from '../../harness/database.js';
import { runToRest } from '../../harness/engine.js';
import { say, scripted } from '../../harness/script.js';
import { type Network, openNetwork } from '../../workers/proxy.js';

/** A connection that is gone and says nothing: the server keeps what its session holds until it notices. */
describePostgres('the connection that holds the lock of a worker', () => {
  let database: TestDatabase;
  let network: Network;
  let engine: Engine;
  let beside: Database;
  const fatal: string[] = [];
  const agents = [new Agent({ name: 'plain', model: scripted([[say('done')]]) })];
  beforeEach(async () => {
    fatal.length = 0;
    database = await createEngineDatabase('postgres');
    network = await openNetwork(database.options.databaseUrl ?? '');
    beside = await openDatabase(database.options);
    engine = await createEngine({
      ...{ ...database.options, databaseUrl: network.url, agents, workerId: 'north' },
      onFatal: ({ code }) => fatal.push(code),
    });
  });
  afterEach(async () => {
    await engine.stop({ graceMs: 500 });
    await beside.close();
    await network.close();
    await database.drop();
  });

  /** The session that holds the lock of the worker. */
  const holder = async (): Promise<number | null> => {
    const { rows } = await beside.knex.raw(
      `select pid from pg_locks where locktype = 'advisory' and granted and objid::bigint = hashtextextended(?, 0) & 4294967295`,
      ['holdfast:worker:north'],
    );
    return rows[0]?.pid ?? null;
  };

  it('is made again when it does not answer any more, and the worker goes on', async () => {
    const before = await holder();
    expect(before).not.toBeNull();
    network.hole('pg_try_advisory_lock');
    const isAnother = async () => ![before, null].includes(await holder());
    await expect.poll(async () => fatal.length > 0 || (await isAnother()), { timeout: 40_000 }).toBe(true);
    expect(fatal).toEqual([]);
    expect(await runToRest(engine, 'plain')).toMatchObject({ status: 'completed' });
    expect(await engine.getWorker('north')).toMatchObject({ status: 'working', epoch: 1 });
  });

  it('keeps a second process with the id from starting, while the heartbeat goes on', async () => {
    const [second] = await Promise.allSettled([
      // Without an engine of its own in this process, which has one already.
      becomeWorker(beside, {
        ...{ id: 'north', role: 'worker', capacity: 1, build: '1', pid: 1, recordingVersion: 1 },
        ...{ workflow: 'x', crashLimit: 5, stillAfterMs: 5_000 },
      }),
    ]);
    expect(second).toMatchObject({ status: 'rejected', reason: { code: 'worker_id_in_use' } });
  });

  it.each([
    ['that was marked as stopped', 'gone'],
    ['that no one knows', 'unknown'],
  ])('of a worker %s is ended by the process that starts in its place', async (_which, id) => {
    await beside.tryLock(`holdfast:worker:${id}`);
    if (id === 'gone')
      await beside.knex('holdfast.workers').insert({
        ...{ id, epoch: 4, build: '1', recording_version: 1, pid: 1, role: 'worker', capacity: 1, running: 0 },
        ...{ told_status: 'stopped', started_at: new Date(), heartbeat_at: new Date(), stopped_at: new Date() },
      });
    const worker = await becomeWorker(beside, {
      ...{ id, role: 'worker', capacity: 1, build: '1', pid: 2, recordingVersion: 1 },
      ...{ workflow: 'x', crashLimit: 5, stillAfterMs: 4_000 },
    });
    expect(worker.id).toBe(id);
    await worker.lock.release();
  });

  it('of a frozen one is ended by the process that starts in its place', async () => {
    const held = await beside.tryLock('holdfast:worker:south');
    await beside.knex('holdfast.workers').insert({
      ...{ id: 'south', epoch: 4, build: '1', recording_version: 1, pid: 1, role: 'worker', capacity: 1, running: 0 },
      ...{ told_status: 'working', started_at: new Date(), heartbeat_at: new Date() },
    });

    const worker = await becomeWorker(beside, {
      ...{ id: 'south', role: 'worker', capacity: 1, build: '1', pid: 2, recordingVersion: 1 },
      ...{ workflow: 'x', crashLimit: 5, stillAfterMs: 5_000 },
    });
    expect(worker.epoch).toBe(5);
    let isLost = false;
    held?.onLost(() => {
      isLost = true;
    });
    await expect.poll(() => isLost).toBe(true);
    await worker.lock.release();
  });
});
