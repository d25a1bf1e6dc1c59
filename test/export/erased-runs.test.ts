import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { eraseLocked } from '../../src/engine/retention/delete-run.js';
import { createEngine, type StartExport } from '../../src/index.js';
import { openDatabase } from '../../src/storage/database/open-database.js';
import { createEngineDatabase, describePostgresSlowly } from '../harness/database.js';
import { ADMIN, openTestEngine, restOf, type TestEngine } from '../harness/engine.js';
import { SLOW } from '../harness/slow.js';
import { BUCKET, KEYS, REGION, type S3Server, startS3 } from '../object-store/s3-server.js';
import { config } from './agents.js';
import { ended } from './exported.js';

/** Runs that are erased while they are exported, and afterwards: what is published, and what says that they are in it. */

const scratch = mkdtempSync(join(tmpdir(), 'holdfast-erased-'));
afterAll(() => rmSync(scratch, { recursive: true, force: true }));

const ROOT = `s3://${BUCKET}/exports`;
const reason = 'asked for';

const ran = async ({ engine }: Pick<TestEngine, 'engine'>, input: string, agent = 'looker', subjects?: string[]) => {
  const { id } = await engine.startRun({ agent, input, ...(subjects && { subjects }) }, ADMIN);
  await expect.poll(async () => (await restOf(engine, id)).status).toBe('completed');
  return id;
};

describe.runIf(SLOW)('a run that is erased while its export is sent to a store', () => {
  let server: S3Server;
  let t: TestEngine;
  beforeAll(async () => {
    server = await startS3();
    t = await openTestEngine('pglite', {
      ...{ ...config, exportDir: scratch, exportBuckets: [ROOT] },
      objectStore: { endpoint: server.url, region: REGION, ...KEYS },
    });
  });
  afterAll(async () => {
    await t.close();
    await server.close();
  });
  afterEach(() => {
    server.fault = () => null;
    server.objects.clear();
    server.asked.length = 0;
  });

  const exported = async (name: string, more: Partial<StartExport> = {}) => {
    const request = { format: 'messages', options: { runsPerFile: 1, deduplicate: false } } as const;
    return ended(t.engine, await t.engine.startExport({ ...request, ...more, to: { s3: `${ROOT}/${name}` } }, ADMIN));
  };
  const inStore = () => [...server.objects.values()].map(({ content }) => String(content)).join('\n');

  it.each([
    ['before the first file', 'train-00000-of-00003.jsonl'],
    ['before the last of its files', 'train-00002-of-00003.jsonl'],
    ['when nothing is missing but the manifest', 'manifest.json'],
  ])('is not in what is published: erased %s', async (name, file) => {
    const ids = [];
    for (const input of ['c4n4ry one', 'two', 'three']) ids.push(await ran(t, input));
    const [gone = '', ...stay] = ids;
    let erased = false;
    server.fault = async (method, key) => {
      if (erased || method !== 'PUT' || !key.endsWith(file)) return null;
      erased = true;
      expect((await t.engine.eraseRun(gone, { reason }, ADMIN)).exports).toEqual([]);
      return null;
    };
    const filters = { since: (await t.engine.getRun(gone, ADMIN)).completedAt ?? '' };
    const view = await exported(name.replaceAll(' ', '-'), { filters });
    expect(erased).toBe(true);
    expect(view).toMatchObject({
      ...{ status: 'completed', erasedSince: 0 },
      progress: { runs: 3, done: 3, rows: 2, skipped: { erased: 1 } },
    });
    const paths = [...view.files.map(({ path }) => path), 'README.md', 'manifest.json'];
    expect([...server.objects.keys()].toSorted()).toEqual(
      paths.map((path) => `exports/${name.replaceAll(' ', '-')}/${path}`).toSorted(),
    );
    expect(inStore()).not.toContain('c4n4ry');
    expect(inStore()).not.toContain(gone);
    for (const id of stay) expect(inStore()).toContain(id);
    expect(view.files).toHaveLength(4);
    expect(readdirSync(join(scratch, 'default'))).toEqual([]);
  });

  it('is not in it as the sub-agent of another run', async () => {
    const chief = await ran(t, 'ask', 'chief');
    const { items } = await t.engine.listRuns({ limit: 100 }, ADMIN);
    const below = items.find(({ parentRunId }) => parentRunId === chief)?.id ?? '';
    const before = await exported('family', { format: 'atif', filters: { agent: 'chief' } });
    const subAgents = (name: string, path = '') => {
      const row = JSON.parse(String(server.objects.get(`exports/${name}/${path}`)?.content));
      return row.trajectory.subagent_trajectories.length;
    };
    expect(subAgents('family', before.files[0]?.path)).toBe(2);
    server.fault = async (method, key) => {
      if (method === 'PUT' && key.endsWith('manifest.json')) await t.engine.eraseRun(below, { reason }, ADMIN);
      return null;
    };
    const view = await exported('again', { format: 'atif', filters: { agent: 'chief' } });
    expect(view).toMatchObject({ status: 'completed', erasedSince: 0 });
    expect(JSON.parse(String(server.objects.get('exports/again/manifest.json')?.content))).toMatchObject({
      revision: 1,
    });
    expect(subAgents('again', view.files[0]?.path)).toBe(1);
    expect(await t.engine.getExport(before.id, ADMIN)).toMatchObject({ erasedSince: 1 });
  });

  it('is named by the exports that were completed before', async () => {
    const about = [await ran(t, 'x', 'looker', ['ann']), await ran(t, 'y', 'looker', ['ann']), await ran(t, 'z')];
    const [one, two] = [await exported('one'), await exported('two', { format: 'jsonl' })];
    const [first = '', , third = ''] = about;
    const erasure = await t.engine.eraseRun(third, { reason }, ADMIN);
    expect(erasure.exports).toEqual([one.id, two.id].toSorted());
    expect((await t.engine.eraseRun(third, { reason }, ADMIN)).exports).toEqual(erasure.exports);
    const subject = await t.engine.eraseSubject({ subject: 'ann', reason }, ADMIN);
    expect(subject).toMatchObject({ status: 'done', erased: 2, exports: erasure.exports });
    expect((await t.engine.eraseRun(first, { reason }, ADMIN)).exports).toEqual(erasure.exports);
    const { items } = await t.engine.listExports({ limit: 2 }, ADMIN);
    expect(items.map(({ erasedSince }) => erasedSince)).toEqual([3, 3]);
    // One that is made now has none of them, and no one names it.
    expect(await exported('three', { filters: { agent: 'looker' } })).toMatchObject({ erasedSince: 0 });
    expect((await t.engine.eraseRun(third, { reason }, ADMIN)).exports).toEqual(erasure.exports);
  });
});

describePostgresSlowly('a run that is erased between the folder of its export and its completion', () => {
  it('is in no folder that is completed, the one that is faster', async () => {
    const database = await createEngineDatabase('postgres');
    const beside = await openDatabase(database.options);
    const exportDir = mkdtempSync(join(scratch, 'folders-'));
    const t = { engine: await createEngine({ ...config, ...database.options, workerId: 'test', exportDir }) };
    try {
      const ids = [await ran(t, 'c4n4ry'), await ran(t, 'two'), await ran(t, 'three')];
      const [gone = '', later = ''] = ids;
      let started = { id: '', folder: '' };
      const waits = async () =>
        (
          await beside
            .knex('pg_stat_activity')
            .where({ wait_event: 'advisory' })
            .whereLike('query', '%advisory_xact_lock(%')
        ).length;
      // An erasure that is at work: nothing is completed until it is done.
      await beside.knex.transaction(async (trx) => {
        await trx.raw("select pg_advisory_xact_lock_shared(hashtextextended('holdfast:exports', 0))");
        const options = { runsPerFile: 1, deduplicate: false };
        started = await t.engine.startExport({ format: 'messages', options, to: { folder: 'one' } }, ADMIN);
        await expect.poll(() => existsSync(join(started.folder, 'manifest.json'))).toBe(true);
        await expect.poll(waits).toBe(1);
        expect((await t.engine.getExport(started.id, ADMIN)).status).toBe('running');
        expect(await eraseLocked(trx, gone, { actor: 'ada', reason })).toMatchObject({ exports: [] });
      });
      const view = await ended(t.engine, await t.engine.getExport(started.id, ADMIN));
      expect(view).toMatchObject({
        status: 'completed',
        progress: { rows: 2, skipped: { erased: 1 } },
        erasedSince: 0,
      });
      const files = readdirSync(view.folder, { recursive: true, encoding: 'utf8' })
        .map((name) => join(view.folder, name))
        .filter((name) => statSync(name).isFile());
      expect(files).toHaveLength(6);
      for (const file of files) expect(readFileSync(file, 'utf8')).not.toMatch(new RegExp(`c4n4ry|${gone}`));
      expect(JSON.parse(readFileSync(join(view.folder, 'manifest.json'), 'utf8'))).toMatchObject({ revision: 1 });
      await expect.poll(() => readdirSync(join(view.folder, '..'))).toEqual(['one']);

      // A completion that is at work is waited for, and the erasure knows of it.
      let erasing: Promise<{ exports: readonly string[] }> | undefined;
      await beside.knex.transaction(async (trx) => {
        await trx.raw("select pg_advisory_xact_lock(hashtextextended('holdfast:exports', 0))");
        erasing = t.engine.eraseRun(later, { reason }, ADMIN);
        const held = async () =>
          (await beside.knex('pg_stat_activity').where({ wait_event: 'advisory' }).whereLike('query', '%lock_shared%'))
            .length;
        await expect.poll(held).toBe(1);
      });
      expect((await erasing)?.exports).toEqual([started.id]);
      expect(await t.engine.getExport(started.id, ADMIN)).toMatchObject({ erasedSince: 1 });
    } finally {
      await beside.close();
      await t.engine.stop({ graceMs: 1000 });
      await database.drop();
    }
  }, 60_000);
});
