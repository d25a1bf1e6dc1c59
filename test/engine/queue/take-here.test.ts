import { DBOSExecutor } from '@dbos-inc/dbos-sdk/internal/dbos-executor';
import { Agent } from '@openai/agents';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { z } from 'zod';
import { RECORDING_VERSION } from '../../../src/engine/dbos/recording-version.js';
import {
  createEngine,
  defineAgent,
  defineTool,
  type Engine,
  type EngineConfig,
  functionModel,
} from '../../../src/index.js';
import { workflowIdOf } from '../../../src/storage/dbos/workflow-id.js';
import { createEngineDatabase, describeEachDatabase, type TestDatabase } from '../../harness/database.js';
import { ADMIN, BOB, restOf, runToRest } from '../../harness/engine.js';
import { call, resultsIn, say } from '../../harness/script.js';
import { SLOW } from '../../harness/slow.js';

/** A segment that a decision leads to works in the process that has decided, where that has a slot. */

let paid = 0;
/** The body waits for it, and its run keeps its slot meanwhile. */
let held: Promise<void> = Promise.resolve();
const pay = defineTool({
  ...{ name: 'pay', description: 'Pays.', input: z.object({}), output: z.string(), effect: 'unsafe' },
  approval: true,
  execute: async () => {
    paid += 1;
    await held;
    return 'paid';
  },
});
const model = functionModel('asker', async ({ input }) => {
  if (resultsIn(input).length > 0) return [say('done')];
  return JSON.stringify(input).includes('two') ? [call('pay', {}, 'a'), call('pay', {}, 'b')] : [call('pay', {}, 'a')];
});
const payer = (limits: { readonly concurrency?: number } = {}) =>
  defineAgent({ agent: new Agent({ name: 'payer', tools: [pay], model }), grants: ['tool:call:*'], ...limits });

/** Asks the database of the engine. */
const query = async (sql: string, values: readonly unknown[] = []): Promise<Record<string, unknown>[]> =>
  (await DBOSExecutor.globalInstance?.systemDatabase.pool.query(sql, [...values]))?.rows ?? [];

/** The segment after the pause of a run, as DBOS has it. */
const segmentOf = async (runId: string) =>
  (
    await query(
      `select status, executor_id as worker, application_version as version, recovery_attempts::int as attempts
         from dbos.workflow_status where workflow_uuid = $1`,
      [workflowIdOf(runId, 1)],
    )
  )[0];
const TAKEN = { status: 'PENDING', worker: 'here', version: String(RECORDING_VERSION), attempts: 1 };

describeEachDatabase('the segment after a decision', (kind) => {
  let database: TestDatabase;
  let engine: Engine;
  let release = (): void => undefined;
  const open = async (config: Partial<EngineConfig> = {}): Promise<void> => {
    const given = { ...database.options, workerId: 'here', agents: [payer()], concurrency: 1, ...config };
    engine = await createEngine(given);
  };
  beforeEach(async () => {
    database = await createEngineDatabase(kind);
    paid = 0;
    held = Promise.resolve();
  });
  afterEach(async () => {
    release();
    await engine.stop({ graceMs: 1000 });
    await database.drop();
  });
  /** From here on calls wait until `release`. */
  const hold = (): void => {
    held = new Promise((resolve) => {
      release = resolve;
    });
  };
  const pausedRun = async (input = 'one') => {
    const run = await runToRest(engine, 'payer', input);
    expect(run.status).toBe('paused');
    return run;
  };
  const approve = (id = '') => engine.decide(id, { verdict: 'approve' }, BOB);

  it('is taken in the transaction of the decision', async () => {
    await open();
    const { id, interruptions } = await pausedRun();
    hold();
    await approve(interruptions[0]);
    expect(await segmentOf(id)).toEqual(TAKEN);
    expect((await engine.getRun(id, ADMIN)).status).toBe('running');
    release();
    expect(await restOf(engine, id)).toMatchObject({ status: 'completed', output: 'done' });
    expect(paid).toBe(1);
    expect(await engine.verifyRun(id, ADMIN)).toMatchObject({ ok: true });
  });

  it('begins when the last of several decisions is there', async () => {
    await open();
    const { id, interruptions } = await pausedRun('two');
    hold();
    await approve(interruptions[0]);
    expect(await segmentOf(id)).toBeUndefined();
    await approve(interruptions[1]);
    expect(await segmentOf(id)).toEqual(TAKEN);
    release();
    expect(await restOf(engine, id)).toMatchObject({ status: 'completed' });
    expect(paid).toBe(2);
  });

  it('waits in the queue while the process has no slot', async () => {
    await open();
    const [first, second] = [await pausedRun(), await pausedRun()];
    hold();
    await approve(first.interruptions[0]);
    await approve(second.interruptions[0]);
    expect(await segmentOf(first.id)).toEqual(TAKEN);
    expect(await segmentOf(second.id)).toMatchObject({ status: 'ENQUEUED', worker: '' });
    release();
    for (const { id } of [first, second]) expect(await restOf(engine, id)).toMatchObject({ status: 'completed' });
    expect(paid).toBe(2);
  });

  it('waits in the queue where a limit is to be kept', async () => {
    await open({ agents: [payer({ concurrency: 1 })], concurrency: 4 });
    const [first, second] = [await pausedRun(), await pausedRun()];
    hold();
    await approve(first.interruptions[0]);
    await expect.poll(() => paid).toBe(1);
    await approve(second.interruptions[0]);
    expect(await segmentOf(second.id)).toMatchObject({ status: 'ENQUEUED', worker: '' });
    release();
    for (const { id } of [first, second]) expect(await restOf(engine, id)).toMatchObject({ status: 'completed' });
  });

  it('waits for a worker where the process is none', async () => {
    await open();
    const { id, interruptions } = await pausedRun();
    await engine.stop({ graceMs: 1000 });
    await open({ role: 'api' });
    await approve(interruptions[0]);
    expect(await segmentOf(id)).toMatchObject({ status: 'ENQUEUED', worker: '' });
    await engine.stop({ graceMs: 1000 });
    await open();
    expect(await restOf(engine, id)).toMatchObject({ status: 'completed' });
  });

  it('waits for workers of a newer recording version, once one was started', async () => {
    await open();
    const { id, interruptions } = await pausedRun();
    await query(
      `insert into dbos.application_versions (version_id, version_name, version_timestamp) values ('newer', '999', 9999999999999)`,
    );
    await approve(interruptions[0]);
    expect(await segmentOf(id)).toMatchObject({ status: 'ENQUEUED', worker: '', version: null });
    await query(`delete from dbos.application_versions where version_id = 'newer'`);
    expect(await restOf(engine, id)).toMatchObject({ status: 'completed' });
  });

  it('is not there, and its slot is free, when the commit is refused', async () => {
    await open();
    const { id, interruptions } = await pausedRun();
    await query(`create function refuse() returns trigger language plpgsql as $$ begin raise exception 'no'; end $$`);
    await query(`create constraint trigger refuse after insert on dbos.workflow_status deferrable initially deferred
      for each row execute function refuse()`);
    await expect(approve(interruptions[0])).rejects.toThrow();
    expect(await segmentOf(id)).toBeUndefined();
    expect((await engine.getRun(id, ADMIN)).status).toBe('paused');
    await query('drop trigger refuse on dbos.workflow_status');
    hold();
    await approve(interruptions[0]);
    expect(await segmentOf(id)).toEqual(TAKEN);
    release();
    expect(await restOf(engine, id)).toMatchObject({ status: 'completed' });
    expect(paid).toBe(1);
  });

  it.runIf(SLOW)('goes back into the queue when no one executes it', { timeout: 60_000 }, async () => {
    await open();
    const { id, interruptions } = await pausedRun();
    const dbos = DBOSExecutor.globalInstance;
    if (dbos === undefined) throw new Error('an engine is there');
    // As after a commit whose answer was lost.
    Object.assign(dbos, { dispatchDequeuedWorkflows: async (_ids: unknown, _owner: unknown) => undefined });
    await approve(interruptions[0]);
    expect(await segmentOf(id)).toEqual(TAKEN);
    Reflect.deleteProperty(dbos, 'dispatchDequeuedWorkflows');
    expect(await restOf(engine, id)).toMatchObject({ status: 'completed', output: 'done' });
    expect(paid).toBe(1);
    expect(await engine.verifyRun(id, ADMIN)).toMatchObject({ ok: true });
  });
});
