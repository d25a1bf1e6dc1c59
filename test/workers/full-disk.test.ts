import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { asHoldfastError } from '../../src/http/problem.js';
import { ADMIN, dataOf } from '../harness/engine.js';
import { noOwnPostgres, type OwnPostgres, openOwnPostgres } from '../harness/own-postgres.js';
import { SLOW } from '../harness/slow.js';
import { noSmallDisk, openSmallDisk, type SmallDisk } from '../harness/small-disk.js';
import { paymentsOf } from './agents.js';
import { type Fleet, openFleet } from './fleet.js';

const RUNS = 12;
const DISK_MB = 160;
const why = SLOW ? (noOwnPostgres() ?? noSmallDisk()) : 'slow: HOLDFAST_TEST_SLOW=1 runs it';

/** PostgreSQL refuses what needs room, and may end where it cannot write its own log. What was committed stands. */
describe.skipIf(why !== null)(`workers whose PostgreSQL has a full disk${why === null ? '' : ` (${why})`}`, () => {
  let disk: SmallDisk;
  let postgres: OwnPostgres;
  let fleet: Fleet;
  beforeEach(async () => {
    disk = openSmallDisk(DISK_MB);
    postgres = await openOwnPostgres(disk.dir);
    const dataDir = mkdtempSync(join(tmpdir(), 'holdfast-test-'));
    fleet = await openFleet({
      options: { databaseUrl: postgres.url, dataDir },
      drop: async () => rmSync(dataDir, { recursive: true }),
    });
  });
  afterEach(async () => {
    await fleet.close();
    await postgres.close();
    disk.close();
  });

  it('wait until there is room again, and go on', { timeout: 150_000 }, async () => {
    const workers = await Promise.all(['north', 'south'].map((id) => fleet.start({ WORKER_ID: id })));
    const ids = await fleet.runs('payer', RUNS);
    await expect.poll(() => fleet.paid().length, { timeout: 20_000, interval: 20 }).toBeGreaterThan(2);
    disk.fill();
    let refused: unknown = null;
    for (let tries = 0; tries < 200 && refused === null; tries++) {
      await fleet.engine.startRun({ agent: 'looker', input: 'go' }, ADMIN).catch((error: unknown) => {
        refused = error;
      });
    }
    expect(['database_full', 'database_unreachable']).toContain(asHoldfastError(refused).code);
    // A PostgreSQL whose own log has no room ends, which is another trouble.
    await expect.poll(() => fleet.engine.isReady()).toBe(false);
    await sleep(8000);
    const { items: atWork } = await fleet.engine.listRuns({ status: 'running', limit: 50 }, ADMIN);
    expect(atWork).not.toEqual([]);
    disk.makeRoom();
    await postgres.start();
    await expect.poll(() => fleet.engine.isReady()).toBe(true);
    const ended = await fleet.finish(ids);
    expect(ended.map(({ status, error }) => error ?? status)).toEqual(ids.map(() => 'completed'));
    expect(fleet.paid().toSorted()).toEqual(paymentsOf(ids));
    const asked = await Promise.all(ids.map((id) => dataOf(fleet.engine, id, 'call.unknown')));
    expect(asked.flat()).toEqual([]);
    for (const id of ids) expect(await fleet.engine.verifyRun(id, ADMIN)).toMatchObject({ ok: true, complete: true });
    expect(workers.map(({ said }) => said).join()).toMatch(/the database has no room.*No space left on device/);
  });
});
