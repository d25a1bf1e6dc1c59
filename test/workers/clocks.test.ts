import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { describePostgresSlowly } from '../harness/database.js';
import { ADMIN, eventsOf } from '../harness/engine.js';
import { paymentsOf } from './agents.js';
import { type Fleet, openFleet } from './fleet.js';
import type { WorkerProcess } from './worker-process.js';

const STEPPING = pathToFileURL(join(import.meta.dirname, '../../dist/test/workers/stepping-clock.js')).href;
const MINUTE_MS = 60_000;
const NAMES = ['north', 'south'];

/** What is due is due by the clock of the database: workers agree on it, whatever their own clocks say. */
describePostgresSlowly('workers whose clocks are set by an hour, back and ahead,', () => {
  let fleet: Fleet;
  let workers: WorkerProcess[];
  let steps: NodeJS.Timeout;
  beforeEach(async () => {
    fleet = await openFleet();
    const env = { NODE_OPTIONS: `--import ${STEPPING}` };
    workers = await Promise.all(NAMES.map((id) => fleet.start({ ...env, WORKER_ID: id })));
  });
  afterEach(() => {
    clearInterval(steps);
    return fleet.close();
  });
  const step = (): void => {
    for (const worker of workers) worker.kill('SIGUSR2');
  };
  const start = async (agent: string, more: object = {}): Promise<string> =>
    (await fleet.engine.startRun({ agent, input: 'go', ...more }, ADMIN)).id;

  it('take nothing over, time nothing out, wake no one early, and log the time that it is', {
    timeout: 120_000,
  }, async () => {
    const payers = await Promise.all([1, 2, 3, 4].map(() => start('payer', { maxDurationMs: 10 * MINUTE_MS })));
    const sleepers = await Promise.all([1, 2].map(() => start('sleeper')));
    steps = setInterval(step, 700);
    const ended = await fleet.finish([...payers, ...sleepers]);
    expect(ended.map(({ status, error }) => error ?? status)).toEqual(ended.map(() => 'completed'));
    expect(
      fleet
        .paid()
        .filter((key) => !sleepers.some((id) => key.startsWith(id)))
        .toSorted(),
    ).toEqual(paymentsOf(payers));
    for (const id of NAMES) expect(await fleet.engine.getWorker(id)).toMatchObject({ status: 'working', epoch: 1 });
    for (const { id } of ended) {
      expect(await fleet.engine.verifyRun(id, ADMIN)).toMatchObject({ ok: true, complete: true });
      for (const { at } of await eventsOf(fleet.engine, id))
        expect(Math.abs(Date.parse(at) - Date.now())).toBeLessThan(MINUTE_MS);
    }
    for (const id of sleepers) {
      const events = await eventsOf(fleet.engine, id);
      const at = (kind: string): number => Date.parse(events.find((event) => event.kind === kind)?.at ?? '');
      expect(at('interruption.decided') - at('interruption.requested')).toBeGreaterThan(2500);
    }
  });

  it('take over one that died before the clock of the database was set back', async () => {
    const ids = await fleet.runs('payer', 6);
    // One of them may have taken all.
    let at = -1;
    const findAtWork = async () => {
      const found = await Promise.all(NAMES.map((id) => fleet.engine.getWorker(id)));
      at = found.findIndex(({ running }) => running > 0);
      return at;
    };
    await expect.poll(findAtWork, { timeout: 20_000, interval: 20 }).not.toBe(-1);
    workers[at]?.kill('SIGKILL');
    await workers[at]?.ended;
    // What the clock says now is an hour before what it said when the worker wrote this.
    await fleet
      .knex('holdfast.workers')
      .where({ id: NAMES[at] })
      .update({ heartbeat_at: new Date(Date.now() + 60 * MINUTE_MS) });
    expect((await fleet.finish(ids)).map(({ status }) => status)).toEqual(ids.map(() => 'completed'));
    expect(fleet.paid().toSorted()).toEqual(paymentsOf(ids));
  });

  it('find what came while they could not hear of it', async () => {
    // The one that has just started looks for work by itself.
    await sleep(2000);
    step();
    await sleep(1500);
    fleet.network.cut();
    // They try to listen again after pauses that grow to seconds.
    await sleep(7000);
    fleet.network.heal();
    const id = await start('looker');
    expect((await fleet.finish([id])).map(({ status }) => status)).toEqual(['completed']);
  });

  it('and stand back by an hour start what comes', async () => {
    step();
    await fleet.finish(await fleet.runs('looker', 2));
    const ids = await fleet.runs('looker', 12);
    expect((await fleet.finish(ids)).map(({ status }) => status)).toEqual(ids.map(() => 'completed'));
  });
});
