import { createHash } from 'node:crypto';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { ExportView } from '../../src/index.js';
import { ended } from '../export/exported.js';
import { describePostgresSlowly } from '../harness/database.js';
import { ADMIN } from '../harness/engine.js';
import { BUCKET, KEYS, REGION, type S3Server, startS3 } from '../object-store/s3-server.js';
import { type Fleet, openFleet } from './fleet.js';

const ROOT = `s3://${BUCKET}/exports`;

/** What becomes of an export when the worker that makes it is killed, and another one on another machine goes on. */
describePostgresSlowly('workers that export', () => {
  let server: S3Server;
  let fleet: Fleet;
  let scratch: string;
  beforeEach(async () => {
    scratch = mkdtempSync(join(tmpdir(), 'holdfast-takeover-'));
    server = await startS3();
    const objectStore = { endpoint: server.url, region: REGION, ...KEYS };
    fleet = await openFleet(undefined, { exportBuckets: [ROOT], objectStore });
  });
  afterEach(async () => {
    await fleet.close();
    await server.close();
    rmSync(scratch, { recursive: true, force: true });
  });

  const worker = (id: string) =>
    fleet.start({ WORKER_ID: id, EXPORT_STORE: server.url, EXPORT_DIR: join(scratch, id) });
  const over = (started: ExportView) => ended(fleet.engine, started);

  it('end what one began that was killed while it sent a file: each file is there once', async () => {
    const north = await worker('north');
    await fleet.finish(await fleet.runs('looker', 5));
    const request = { format: 'messages', options: { runsPerFile: 2, deduplicate: false } } as const;
    let sent = 0;
    const killed = new Promise<void>((resolve) => {
      server.fault = (method) => {
        if (method !== 'PUT' || ++sent !== 3) return null;
        north.kill('SIGKILL');
        resolve();
        return 'cut';
      };
    });
    const started = await fleet.engine.startExport({ ...request, to: { s3: `${ROOT}/one` } }, ADMIN);
    await killed;
    await north.ended;
    server.fault = () => null;
    await worker('south');
    const view = await over(started);
    expect(view).toMatchObject({ status: 'completed', error: null, progress: { runs: 5, done: 5, rows: 5 } });
    expect(view.files).toHaveLength(6);
    const keys = [...view.files.map(({ path }) => path), 'README.md', 'manifest.json'].map(
      (path) => `exports/one/${path}`,
    );
    expect([...server.objects.keys()].toSorted()).toEqual(keys.toSorted());
    for (const { path, sha256 } of view.files) {
      const content = server.objects.get(`exports/one/${path}`)?.content ?? '';
      expect(createHash('sha256').update(content).digest('hex')).toBe(sha256);
    }
    // Two were there, the third was cut off, and the rest was sent once.
    expect(server.asked.filter((one) => one.startsWith('PUT '))).toHaveLength(keys.length + 1);
    // The parts of the one that was killed were on its own disk, and were written again.
    expect(readdirSync(join(scratch, 'south', 'default'))).toEqual([]);

    const folder = await over(await fleet.engine.startExport({ ...request, to: { folder: 'one' } }, ADMIN));
    expect(folder.files).toEqual(view.files);
    expect(readdirSync(join(scratch, 'south', 'default'))).toEqual(['one']);
  }, 120_000);

  it('end what one began that was killed while it wrote parts, on a disk that they share', async () => {
    const shared = join(scratch, 'shared');
    const start = (id: string) => fleet.start({ WORKER_ID: id, EXPORT_DIR: shared });
    let worker = await start('w0');
    await fleet.finish(await fleet.runs('looker', 30));
    const request = { format: 'messages', options: { runsPerFile: 1, deduplicate: false } } as const;
    const begin = (folder: string) => fleet.engine.startExport({ ...request, to: { folder } }, ADMIN);
    const whole = await over(await begin('whole'));
    // A worker that was faster than the kill shows nothing: another export is begun.
    let cut = 0;
    for (let n = 1; cut === 0 && n <= 5; n++) {
      const started = await begin(`cut-${n}`);
      const done = async () => (await fleet.engine.getExport(started.id, ADMIN)).progress.done;
      await expect.poll(done, { interval: 10 }).toBeGreaterThan(2);
      worker.kill('SIGKILL');
      await worker.ended;
      if ((await fleet.engine.getExport(started.id, ADMIN)).status === 'running') cut += 1;
      worker = await start(`w${n}`);
      const view = await over(started);
      expect(view).toMatchObject({ status: 'completed', progress: { done: 30, rows: 30 } });
      expect(view.files).toEqual(whole.files);
      const there = (folder: string) =>
        readdirSync(join(shared, 'default', folder), { recursive: true })
          .map(String)
          .toSorted();
      expect(there(`cut-${n}`)).toEqual(there('whole'));
    }
    expect(cut).toBe(1);
    expect(readdirSync(join(shared, 'default')).filter((name) => name.startsWith('.'))).toEqual([]);
  }, 180_000);
});
