import { DBOSExecutor } from '@dbos-inc/dbos-sdk/internal/dbos-executor';
import { Agent } from '@openai/agents';
import { expect, it } from 'vitest';
import { z } from 'zod';
import { createEngine, defineAgent, defineTool } from '../../../src/index.js';
import { openDatabase } from '../../../src/storage/database/open-database.js';
import { createEngineDatabase, describeEachDatabaseSlowly, describePostgresSlowly } from '../../harness/database.js';
import { ADMIN, engineFor, eventsOf, restOf, runToRest } from '../../harness/engine.js';
import { call, scripted } from '../../harness/script.js';

let executions = 0;
let goOn = (): void => {};
const wait = defineTool({
  ...{ name: 'wait', description: 'Waits for the test.', input: z.object({}), output: z.string(), effect: 'unsafe' },
  execute: async () => {
    executions += 1;
    if (executions === 1) await new Promise<void>((resolve) => (goOn = resolve));
    return `execution ${executions}`;
  },
});
const waiter = defineAgent({
  agent: new Agent({ name: 'waiter', model: scripted([[call('wait', {})]]), tools: [wait] }),
  grants: ['tool:call:wait'],
});

describeEachDatabaseSlowly('an execution that outlives the grace of its process', (kind) => {
  let executed = 0;
  const outlives = defineTool({
    ...{ name: 'outlive', description: 'Ends late.', input: z.object({}), output: z.string(), effect: 'idempotent' },
    execute: async () => {
      executed += 1;
      // Its next step begins when DBOS is gone, and the database is not.
      if (executed === 1) await expect.poll(() => DBOSExecutor.globalInstance, { interval: 1 }).toBeUndefined();
      return 'ended';
    },
  });
  const model = scripted([[call('outlive', {})], [call('outlive', {})]]);
  const agent = defineAgent({
    agent: new Agent({ name: 'outliver', model, tools: [outlives] }),
    grants: ['tool:call:outlive'],
  });

  it('records nothing, and is executed again', async () => {
    const database = await createEngineDatabase(kind);
    const start = () => createEngine({ ...database.options, agents: [agent], workerId: 'test' });
    const first = await start();
    const { id } = await first.startRun({ agent: 'outliver', input: 'go' }, ADMIN);
    await expect.poll(() => executed, { timeout: 20_000, interval: 5 }).toBe(1);
    await first.stop({ graceMs: 50 });
    const second = await start();
    try {
      expect(await restOf(second, id)).toMatchObject({ status: 'completed' });
      expect(await second.verifyRun(id, ADMIN)).toMatchObject({ ok: true, complete: true });
      expect(executed).toBe(3);
    } finally {
      await second.stop();
      await database.drop();
    }
  });
});

describeEachDatabaseSlowly('a process that stops as soon as it executes a segment again', (kind) => {
  const TURNS = 30;
  const outcomes: string[] = [];
  let isHeld = true;
  const count = defineTool({
    ...{ name: 'count', description: 'Counts.', input: z.object({}), output: z.string(), effect: 'idempotent' },
    execute: async (_input, { signal }) => {
      if (outcomes.length < TURNS - 1) outcomes.push('once');
      else if (isHeld) await new Promise((resolve) => signal.addEventListener('abort', resolve));
      return 'counted';
    },
  });
  const model = scripted(Array.from({ length: TURNS }, () => [call('count', {})]));
  const agent = defineAgent({ agent: new Agent({ name: 'counter', model, tools: [count] }), grants: ['tool:call:*'] });

  it('leaves where nothing was recorded, and not before', async () => {
    const database = await createEngineDatabase(kind);
    const start = () => createEngine({ ...database.options, agents: [agent], workerId: 'test' });
    let engine = await start();
    try {
      const { id } = await engine.startRun({ agent: 'counter', input: 'go', maxTurns: TURNS + 1 }, ADMIN);
      await expect.poll(() => outcomes.length).toBe(TURNS - 1);
      const held = () => eventsOf(engine, id, 'model.responded');
      await expect.poll(async () => (await held()).length).toBe(TURNS);
      await engine.stop({ graceMs: 0 });
      isHeld = false;
      engine = await start();
      await engine.stop({ graceMs: 20_000 });
      engine = await start();
      expect(await restOf(engine, id)).toMatchObject({ status: 'completed', turns: TURNS + 1 });
      expect(await engine.verifyRun(id, ADMIN)).toMatchObject({ ok: true, complete: true });
      expect(outcomes).toHaveLength(TURNS - 1);
    } finally {
      await engine.stop({ graceMs: 1000 });
      await database.drop();
    }
  });
});

describePostgresSlowly('an execution that DBOS gave up', () => {
  it('is begun again by the worker that has it', async () => {
    const database = await createEngineDatabase('postgres');
    const engine = await createEngine({ agents: [waiter], ...database.options });
    const opened = await openDatabase(database.options);
    try {
      const { id } = await engine.startRun({ agent: 'waiter', input: 'go' }, ADMIN);
      await expect.poll(() => executions).toBe(1);
      // As if its own checkpoint had been written, and the answer lost: DBOS finds that someone else has the workflow.
      await opened.knex('dbos.workflow_status').where({ workflow_uuid: id }).update({ owner_xid: 'another execution' });
      goOn();
      await expect
        .poll(() => engine.getRun(id, ADMIN), { timeout: 30_000 })
        .toMatchObject({ status: 'completed', output: 'call_wait=execution 1' });
      // What the first execution had done is known, and is not done again.
      expect(executions).toBe(1);
      expect(await engine.verifyRun(id, ADMIN)).toMatchObject({ ok: true, complete: true });
    } finally {
      await opened.close();
      await engine.stop();
      await database.drop();
    }
  });
});

const look = defineTool({
  ...{ name: 'look', description: 'Looks.', input: z.object({}), output: z.string(), effect: 'pure' },
  execute: () => 'seen',
});
const looker = defineAgent({
  agent: new Agent({ name: 'looker', model: scripted([[call('look', {})], [call('look', {})]]), tools: [look] }),
  grants: ['tool:call:look'],
});

describeEachDatabaseSlowly('a worker that died with two segments of one run', (kind) => {
  const t = engineFor(kind, { agents: [looker], turnsPerSegment: 1 });

  it('is taken over: of the one that had ended but for its record, only that is made good', async () => {
    const { id, status, output } = await runToRest(t.engine, 'looker');
    expect(status).toBe('completed');
    const segments = await t.between(async (knex) => {
      // As if it had died before DBOS wrote that the segments had ended.
      await knex('holdfast.workers').update({ stopped_at: null, leaving_at: null });
      const of = () => knex('dbos.workflow_status').where('workflow_uuid', 'like', `${id}%`);
      await of().update({ status: 'PENDING', executor_id: 'test', completed_at: null, output: null });
      return of().pluck('workflow_uuid');
    });
    expect(segments.length).toBeGreaterThan(1);
    const statuses = () =>
      t.between((knex) => knex('dbos.workflow_status').whereIn('workflow_uuid', segments).pluck('status'));
    await expect.poll(async () => new Set(await statuses())).toEqual(new Set(['SUCCESS']));
    const crashes = await t.between((knex) => knex('holdfast.crashes').where({ run_id: id }));
    expect(crashes).toMatchObject([{ segment: segments.length - 1, crashes: 1 }]);
    expect(await t.engine.getRun(id, ADMIN)).toMatchObject({ status: 'completed', output });
    expect(await t.engine.verifyRun(id, ADMIN)).toMatchObject({ ok: true, complete: true });
  });
});
