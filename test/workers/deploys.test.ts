import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest';
import { describePostgresSlowly } from '../harness/database.js';
import { ADMIN, dataOf } from '../harness/engine.js';
import { newerBuild } from '../harness/newer-build.js';
import { paymentsOf } from './agents.js';
import { type Fleet, openFleet } from './fleet.js';
import type { WorkerProcess } from './worker-process.js';

const WORKERS = ['north', 'south', 'west'];

/** Workers that are replaced while runs work: nothing stands still, and nothing runs twice. */
describePostgresSlowly('a deploy', () => {
  let fleet: Fleet;
  let newer: string;
  beforeAll(async () => {
    newer = await newerBuild('test/workers/worker.js');
  });
  afterAll(() => rmSync(newer, { recursive: true, force: true }));
  beforeEach(async () => {
    fleet = await openFleet();
  });
  afterEach(() => fleet.close());

  const startOld = () => Promise.all(WORKERS.map((id) => fleet.start({ WORKER_ID: id })));
  const startNewer = (id: string): Promise<WorkerProcess> =>
    fleet.start({ WORKER_ID: id, RECORDING_VERSION: '2' }, [join(newer, 'dist/test/workers/worker.js')]);
  const untilPaid = (count: number) =>
    expect.poll(() => fleet.paid().length, { timeout: 30_000, interval: 20 }).toBeGreaterThan(count);

  /** Every run ends, every payment is made once, and every log is whole. */
  const expectExact = async (ids: readonly string[]): Promise<void> => {
    const ended = await fleet.finish(ids);
    expect(ended.flatMap(({ error }) => error ?? [])).toEqual([]);
    expect(ended.map(({ status }) => status)).toEqual(ids.map(() => 'completed'));
    // A call that was asked for again after its segment was rebuilt has an id of its own.
    expect(
      fleet
        .paid()
        .map((line) => line.replace(/_s\d+$/, ''))
        .toSorted(),
    ).toEqual(paymentsOf(ids));
    for (const id of ids) expect(await fleet.engine.verifyRun(id, ADMIN)).toMatchObject({ ok: true, complete: true });
  };
  const rebuiltOf = async (ids: readonly string[]) =>
    (await Promise.all(ids.map((id) => dataOf(fleet.engine, id, 'segment.rebuilt')))).flat();

  it('of a build that records alike replaces one worker after the other', { timeout: 150_000 }, async () => {
    const workers = await startOld();
    const ids = await fleet.runs('payer', 30);
    for (const [n, id] of WORKERS.entries()) {
      ids.push(...(await fleet.runs('payer', 10)));
      await untilPaid(n * 20);
      workers[n]?.kill('SIGTERM');
      expect(await workers[n]?.ended).toBe(0);
      await fleet.start({ WORKER_ID: id });
    }
    await expectExact(ids);
    expect(await rebuiltOf(ids)).toEqual([]);
  });

  it.each(['SIGTERM', 'SIGKILL'] as const)(
    'of a build that records otherwise goes on with what the old ones leave at %s',
    { timeout: 150_000 },
    async (signal) => {
      const workers = await startOld();
      const ids = await fleet.runs('clerk', 24);
      await untilPaid(4);
      const end = async () => {
        for (const worker of workers) {
          worker.kill(signal);
          await worker.ended;
        }
      };
      // What is killed must be at work then, and would be over when the new ones are there.
      if (signal === 'SIGKILL') await end();
      await Promise.all(WORKERS.map((id) => startNewer(`${id}-new`)));
      ids.push(...(await fleet.runs('clerk', 12)));
      if (signal === 'SIGTERM') await end();
      await expectExact(ids);
      const rebuilt = await rebuiltOf(ids);
      expect(new Set(rebuilt.map(({ from, to }) => `${from} to ${to}`))).toEqual(
        new Set(signal === 'SIGKILL' ? ['1 to 2'] : []),
      );
    },
  );

  it('of a build that records otherwise leaves to the old ones what they can go on with', {
    timeout: 150_000,
  }, async () => {
    const [north] = await startOld();
    const ids = await fleet.runs('clerk', 12);
    await untilPaid(2);
    await startNewer('newer');
    north?.kill('SIGKILL');
    await expectExact(ids);
    expect(await rebuiltOf(ids)).toEqual([]);
  });

  it('of a build that records otherwise fences an old one that was frozen', { timeout: 150_000 }, async () => {
    const old = await fleet.start({ WORKER_ID: 'north' });
    const ids = await fleet.runs('clerk', 8);
    await untilPaid(2);
    old.kill('SIGSTOP');
    const paid = fleet.paid();
    await fleet.loseLock('north');
    await startNewer('newer');
    await expect.poll(async () => (await rebuiltOf(ids)).length, { timeout: 30_000 }).toBe(ids.length);
    old.kill('SIGCONT');
    expect(await old.ended).toBe(1);
    expect(old.said).toContain('fatal worker_superseded');
    expect((await fleet.finish(ids)).map(({ status }) => status)).toEqual(ids.map(() => 'completed'));
    // A payment that had begun when it stood still may have gone on when it woke up, and someone has said before that it had not.
    expect(fleet.paid().length - paymentsOf(ids).length).toBeLessThanOrEqual(ids.length);
    expect(new Set(fleet.paid()).size).toBe(paymentsOf(ids).length);
    expect(fleet.paid().slice(0, paid.length)).toEqual(paid);
    for (const id of ids) expect(await fleet.engine.verifyRun(id, ADMIN)).toMatchObject({ ok: true, complete: true });
    const late = await fleet
      .knex('holdfast.events as e')
      .join('holdfast.events as r', (on) => on.on('r.run_id', 'e.run_id').andOnVal('r.kind', 'segment.rebuilt'))
      .where('e.worker', 'north')
      .whereRaw('e.seq > r.seq')
      .select('e.kind');
    expect(late).toEqual([]);
  });
});
