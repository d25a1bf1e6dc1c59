import { afterEach, beforeEach, expect, it } from 'vitest';
import { describePostgresSlowly } from '../harness/database.js';
import { ADMIN, dataOf } from '../harness/engine.js';
import { paymentsOf } from './agents.js';
import { type Fleet, openFleet } from './fleet.js';

const RUNS = 6;

/** What workers do of each other: nothing stands still because one died, nothing runs twice because one seemed dead. */
describePostgresSlowly('workers', () => {
  let fleet: Fleet;
  beforeEach(async () => {
    fleet = await openFleet();
  });
  afterEach(() => fleet.close());

  const until = (check: () => unknown) => expect.poll(check, { timeout: 20_000, interval: 20 }).toBeTruthy();
  const isAtWork = (worker: string) => async () => (await fleet.engine.getWorker(worker)).running > 0;

  /** Every payment of every run once, and every log whole. */
  const expectExact = async (ids: readonly string[]): Promise<void> => {
    expect(fleet.paid().toSorted()).toEqual(paymentsOf(ids));
    for (const id of ids) expect(await fleet.engine.verifyRun(id, ADMIN)).toMatchObject({ ok: true, complete: true });
  };

  it('take over the segments of one that was killed', async () => {
    const first = await fleet.start({ WORKER_ID: 'north' });
    const ids = await fleet.runs('payer', RUNS);
    await until(() => fleet.paid().length > 2);
    first.kill('SIGKILL');
    await first.ended;
    await fleet.start({ WORKER_ID: 'south' });
    expect((await fleet.finish(ids)).map(({ status }) => status)).toEqual(ids.map(() => 'completed'));
    await expectExact(ids);
    expect(await fleet.engine.getWorker('north')).toMatchObject({ status: 'stopped', epoch: 2, running: 0 });
  });

  it('leave one alone that lives and has lost its lock, until it has it back', async () => {
    await fleet.start({ WORKER_ID: 'north' });
    await fleet.start({ WORKER_ID: 'south' });
    // Longer than a heartbeat, and more than one of them takes.
    const ids = await fleet.runs('clerk', 12);
    await until(isAtWork('north'));
    for (let n = 0; n < 4; n++) {
      await fleet.loseLock('north');
      await new Promise((resolve) => setTimeout(resolve, 300));
    }
    expect((await fleet.finish(ids)).map(({ status }) => status)).toEqual(ids.map(() => 'completed'));
    await expectExact(ids);
    expect(await fleet.engine.getWorker('north')).toMatchObject({ status: 'working', epoch: 1 });
    const asked = await Promise.all(ids.map((id) => dataOf(fleet.engine, id, 'call.unknown')));
    expect(asked.flat()).toEqual([]);
  });

  it('fence one that was frozen, lost its lock and wakes up: it ends without an effect', async () => {
    const first = await fleet.start({ WORKER_ID: 'north' });
    const ids = await fleet.runs('payer', RUNS);
    await until(() => fleet.paid().length > 2);
    first.kill('SIGSTOP');
    await fleet.loseLock('north');
    await fleet.start({ WORKER_ID: 'south' });
    await fleet.finish(ids);
    const paid = fleet.paid().length;
    first.kill('SIGCONT');
    expect(await first.ended).toBe(1);
    expect(first.said).toContain('fatal worker_superseded');
    // What had begun before it stood still may have gone on when it woke up; nothing else has.
    expect(fleet.paid().length - paid).toBeLessThanOrEqual(RUNS);
    expect(new Set(fleet.paid().slice(0, paid)).size).toBe(paid);
    for (const id of ids) expect(await fleet.engine.verifyRun(id, ADMIN)).toMatchObject({ ok: true, complete: true });
  });

  it('go on with the runs of one that is frozen and keeps its lock, and fence it', async () => {
    const first = await fleet.start({ WORKER_ID: 'north' });
    const ids = await fleet.runs('clerk', 12);
    await until(() => fleet.paid().length > 2);
    await fleet.start({ WORKER_ID: 'south', STILL_AFTER_MS: '5000' });
    first.kill('SIGSTOP');
    await expect.poll(async () => (await fleet.engine.getWorker('north')).epoch, { timeout: 30_000 }).toBe(2);
    expect((await fleet.finish(ids)).map(({ status }) => status)).toEqual(ids.map(() => 'completed'));
    const paid = fleet.paid().length;
    first.kill('SIGCONT');
    expect(await first.ended).toBe(1);
    expect(first.said).toContain('fatal worker_superseded');
    // What had begun before it stood still may have gone on when it woke up; nothing else has.
    expect(fleet.paid().length - paid).toBeLessThanOrEqual(8);
    expect(new Set(fleet.paid().slice(0, paid)).size).toBe(paid);
    for (const id of ids) expect(await fleet.engine.verifyRun(id, ADMIN)).toMatchObject({ ok: true, complete: true });
  });

  it('begin nothing in one that was frozen amid its statements and was taken over', async () => {
    const first = await fleet.start({ WORKER_ID: 'north' });
    // Most of the time lies between the commit of a step and its answer, which the next step follows.
    fleet.network.delay(100);
    const ids = await fleet.runs('noter', 8);
    await until(() => fleet.notedBy(first) > 20);
    await fleet.start({ WORKER_ID: 'south', STILL_AFTER_MS: '5000', DATABASE_URL: fleet.databaseUrl });
    // As on a suspended machine: that the session of its lock was ended does not reach it.
    fleet.network.hole('pg_try_advisory_lock');
    first.kill('SIGSTOP');
    await expect.poll(async () => (await fleet.engine.getWorker('north')).epoch, { timeout: 30_000 }).toBe(2);
    const before = fleet.notedBy(first);
    first.kill('SIGCONT');
    expect(await first.ended).toBe(1);
    expect(fleet.notedBy(first) - before).toBe(0);
    expect((await fleet.finish(ids)).map(({ status }) => status)).toEqual(ids.map(() => 'completed'));
  });

  it('execute each as much as it says, and nothing in the process that serves alone', async () => {
    await fleet.start({ WORKER_ID: 'small', CONCURRENCY: '1' });
    await fleet.start({ WORKER_ID: 'large', CONCURRENCY: '4' });
    const ids = await fleet.runs('looker', 12);
    const most: Record<string, number> = {};
    const watch = setInterval(() => {
      void fleet
        .knex('dbos.workflow_status')
        .where({ status: 'PENDING' })
        .groupBy('executor_id')
        .select('executor_id', fleet.knex.raw('count(*)::int as n'))
        .then((rows: { executor_id: string; n: number }[]) => {
          for (const { executor_id: id, n } of rows) most[id] = Math.max(most[id] ?? 0, n);
        })
        .catch(() => undefined);
    }, 20);
    try {
      expect((await fleet.finish(ids)).map(({ status }) => status)).toEqual(ids.map(() => 'completed'));
    } finally {
      clearInterval(watch);
    }
    expect(most).toEqual({ small: 1, large: 4 });
    expect(await fleet.engine.getWorker('api')).toMatchObject({ role: 'api', capacity: 0, status: 'working' });
  });

  it('get names of their own on one host', async () => {
    await Promise.all([fleet.start(), fleet.start()]);
    const { items } = await fleet.engine.listWorkers({ limit: 10 });
    const [first, second] = items.filter(({ role }) => role === 'worker');
    expect(second?.id).toBe(`${first?.id}-2`);
  });

  it.each(['stop', 'drain'] as const)('hand over what they execute when they are asked to %s', async (mode) => {
    const first = await fleet.start({ WORKER_ID: 'north' });
    const ids = await fleet.runs('payer', RUNS);
    await until(() => fleet.paid().length > 2);
    await fleet.start({ WORKER_ID: 'south' });
    await fleet.engine.stopWorker('north', { mode });
    expect(await first.ended).toBe(0);
    expect(first.said).toContain('stopped asked');
    expect((await fleet.finish(ids)).map(({ status }) => status)).toEqual(ids.map(() => 'completed'));
    await expectExact(ids);
    const asked = await Promise.all(ids.map((id) => dataOf(fleet.engine, id, 'call.unknown')));
    expect(asked.flat()).toEqual([]);
    expect(await fleet.engine.getWorker('north')).toMatchObject({ status: 'stopped' });
    await expect(fleet.engine.stopWorker('nobody', { mode })).rejects.toMatchObject({ code: 'worker_unknown' });
  });

  it('end a run with which they die again and again, and blame no other', { timeout: 240_000 }, async () => {
    const supervised = (async () => {
      let deaths = 0;
      for (;;) {
        const worker = await fleet.start({ WORKER_ID: 'north' }).catch(() => null);
        if ((await worker?.ended) !== 'SIGKILL') return deaths;
        deaths += 1;
      }
    })();
    const ids = await fleet.runs('payer', 20);
    const [poison = ''] = await fleet.runs('poison', 1);
    const ended = await fleet.finish([poison, ...ids]);
    expect(ended[0]).toMatchObject({
      status: 'failed',
      error: { code: 'limit_crashes', message: expect.stringContaining('5 times') },
    });
    expect(ended.slice(1).map(({ status }) => status)).toEqual(ids.map(() => 'completed'));
    await expectExact(ids);
    await until(isIdle);
    await fleet.engine.stopWorker('north', { mode: 'stop' });
    expect(await supervised).toBe(5);
  });
  const isIdle = async () => (await fleet.engine.getWorker('north')).running === 0;
});
