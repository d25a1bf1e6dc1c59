import { DBOSExecutor } from '@dbos-inc/dbos-sdk/internal/dbos-executor';
import { Agent } from '@openai/agents';
import pg from 'pg';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { z } from 'zod';
import { createEngine, defineAgent, defineTool, type Engine, functionModel } from '../../../src/index.js';
import { workflowIdOf } from '../../../src/storage/dbos/workflow-id.js';
import { createEngineDatabase, describePostgres, type TestDatabase } from '../../harness/database.js';
import { ADMIN, restOf } from '../../harness/engine.js';
import { call, resultsIn, say } from '../../harness/script.js';

/** What begins while the steps before it are recorded, and what waits until they are. Here they are recorded when the test says so. */

const LOCK = 4711;
const WAIT_MS = 300;

const query = async (sql: string, values: readonly unknown[] = []): Promise<Record<string, unknown>[]> =>
  (await DBOSExecutor.globalInstance?.systemDatabase.pool.query(sql, [...values]))?.rows ?? [];

const stepsOf = async (runId: string): Promise<readonly unknown[]> => {
  const steps = `select function_name as name from dbos.operation_outputs where workflow_uuid = $1 order by function_id`;
  return (await query(steps, [workflowIdOf(runId, 0)])).map((row) => row['name']);
};

describePostgres('a call, while the steps before it are recorded', () => {
  let database: TestDatabase;
  let engine: Engine;
  let holder: pg.Client;
  /** What was recorded when a tool was called. */
  let seen = new Map<string, readonly unknown[]>();
  let called = (_name: string): void => undefined;
  const toolOf = (name: string, effect: 'pure' | 'idempotent' | 'unsafe') =>
    defineTool({
      ...{ name, description: 'Looks at what is recorded.', input: z.object({}), output: z.string(), effect },
      execute: async (_input, { runId }) => {
        seen.set(name, await stepsOf(runId));
        called(name);
        return 'seen';
      },
    });
  const callOf = (name: string): Promise<void> =>
    new Promise((resolve) => {
      called = (one) => one === name && resolve();
    });
  const start = async (...tools: readonly ReturnType<typeof toolOf>[]): Promise<string> => {
    const names = tools.map(({ name }) => name);
    const model = functionModel('looker', async ({ input }) => {
      const next = names[resultsIn(input).length];
      return [next === undefined ? say('done') : call(next, {}, `call-${next}`)];
    });
    engine = await createEngine({
      ...database.options,
      agents: [
        defineAgent({ agent: new Agent({ name: 'looker', tools: [...tools], model }), grants: ['tool:call:*'] }),
      ],
    });
    await query(`create function wait_for_test() returns trigger language plpgsql as
      $$ begin perform pg_advisory_xact_lock(${LOCK}); return new; end $$`);
    await query(`create trigger wait_for_test before insert on dbos.operation_outputs
      for each row when (new.function_name like 'model:%') execute function wait_for_test()`);
    await holder.query(`select pg_advisory_lock(${LOCK})`);
    return (await engine.startRun({ agent: 'looker', input: 'Look.' }, ADMIN)).id;
  };
  const release = (): Promise<unknown> => holder.query(`select pg_advisory_unlock(${LOCK})`);
  const expectSound = async (id: string): Promise<void> => {
    expect((await restOf(engine, id)).status).toBe('completed');
    expect(await engine.verifyRun(id, ADMIN)).toMatchObject({ ok: true });
  };
  beforeEach(async () => {
    database = await createEngineDatabase('postgres');
    seen = new Map();
    holder = new pg.Client(database.options.databaseUrl ?? '');
    await holder.connect();
  });
  afterEach(async () => {
    await holder.end();
    await engine.stop({ graceMs: 1000 });
    await database.drop();
  });

  it('begins if it is pure', async () => {
    const second = callOf('second');
    const id = await start(toolOf('first', 'pure'), toolOf('second', 'pure'));
    // It is called although nothing is recorded, the answer that asks for it included.
    await second;
    expect([...seen]).toEqual([
      ['first', ['segment:begin']],
      ['second', ['segment:begin']],
    ]);
    await release();
    await expectSound(id);
  });

  it.each(['idempotent', 'unsafe'] as const)('waits if it is %s', async (effect) => {
    const look = callOf('look');
    const id = await start(toolOf('look', 'pure'), toolOf('act', effect));
    await look;
    await new Promise((resolve) => setTimeout(resolve, WAIT_MS));
    expect(seen.has('act')).toBe(false);
    await release();
    await expectSound(id);
    expect(seen.get('act')).toEqual(['segment:begin', 'model:1', 'tool:look:call-look', 'model:2']);
  });
});
