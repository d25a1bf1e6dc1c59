import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createEngine, type Engine } from '../../../src/index.js';
import type { Database } from '../../../src/storage/database/database.js';
import { openDatabase } from '../../../src/storage/database/open-database.js';
import { listRunsOf } from '../../../src/storage/exports/export-runs.js';
import { readExport, requestOf } from '../../../src/storage/exports/exports.js';
import { createEngineDatabase, describePostgresSlowly, type TestDatabase } from '../../harness/database.js';
import { echoAgent } from '../../harness/echo-agent.js';
import { ADMIN, runToRest } from '../../harness/engine.js';

/** What exports that are at work have of runs, seen by someone beside the engine. */
describePostgresSlowly('a list of runs to export', () => {
  let database: TestDatabase;
  let engine: Engine;
  let beside: Database;
  beforeAll(async () => {
    database = await createEngineDatabase('postgres');
    engine = await createEngine({ agents: [echoAgent('words')], workerId: 'test', ...database.options });
    beside = await openDatabase(database.options);
  });
  afterAll(async () => {
    await beside.close();
    await engine.stop({ graceMs: 1000 });
    await database.drop();
  });

  /** The row of an export that is over, as if it were at work, and had moved then. */
  const reopened = async (folder: string, movedAt: Date) => {
    const { id } = await engine.startExport({ format: 'messages', to: { folder } }, ADMIN);
    // Its row is over a moment before its workflow is.
    const isOver = async () =>
      (await beside.knex('dbos.workflow_status').where({ workflow_uuid: id }).first('status'))?.status;
    await expect.poll(isOver).toBe('SUCCESS');
    const atWork = { status: 'running', completed_at: null, updated_at: movedAt };
    await beside.knex('holdfast.exports').where({ id }).update(atWork);
    const row = await readExport(beside.knex, id);
    if (row === undefined) throw new Error('it was just made');
    return row;
  };
  const tasksOf = (id: string) => beside.knex('holdfast.export_runs').where({ export_id: id }).pluck('task');

  it('has no task of a run that is erased at the same moment', async () => {
    const started = { agent: 'echo', input: 'go', metadata: { taskId: 'about ann' } };
    const { id } = await engine.startRun(started, ADMIN);
    await engine.getRun(id, ADMIN, { waitMs: 20_000 });
    const row = await reopened('listed', new Date(Date.now() + 3_600_000));
    let erasing: Promise<unknown> = Promise.resolve();
    await beside.knex.transaction(async (trx) => {
      expect(await listRunsOf(trx, row, requestOf(row).filters)).toBe(1);
      erasing = engine.eraseRun(id, { reason: 'asked for' }, ADMIN);
      const waits = async () =>
        (await beside.knex('pg_stat_activity').where({ wait_event_type: 'Lock' }).whereLike('query', '%export_runs%'))
          .length;
      await expect.poll(waits).toBe(1);
      expect(await trx('holdfast.export_runs').pluck('task')).toEqual(['task:about ann']);
    });
    await erasing;
    expect(await tasksOf(row.id)).toEqual(['']);
    await beside.knex.transaction((trx) => listRunsOf(trx, row, requestOf(row).filters));
    expect((await tasksOf(row.id)).join()).not.toContain('ann');
  });

  it('goes with what is on the disk when its workflow can never go on', async () => {
    await runToRest(engine, 'echo');
    const { id, folder } = await reopened('dead', new Date(Date.now() + 3_600_000));
    const staging = join(dirname(folder), `.${id}.partial`);
    mkdirSync(staging);
    writeFileSync(join(staging, 'part'), 'what a run said');
    const listed = { export_id: id, position: 1, run_id: 'run_x', task: 'task:about ann' };
    await beside.knex('holdfast.export_runs').insert(listed);
    await beside.knex('holdfast.export_digests').insert({ export_id: id, digest: 'a', part: 0 });
    await beside.knex('dbos.workflow_status').where({ workflow_uuid: id }).update({ status: 'CANCELLED' });
    await beside
      .knex('holdfast.exports')
      .where({ id })
      .update({ updated_at: new Date(0) });
    await expect.poll(() => existsSync(staging)).toBe(false);
    expect(await engine.getExport(id, ADMIN)).toMatchObject({ status: 'failed', error: { code: 'export_failed' } });
    expect(await tasksOf(id)).toEqual([]);
    expect(await beside.knex('holdfast.export_digests').where({ export_id: id })).toEqual([]);
  });
});
