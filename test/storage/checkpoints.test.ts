import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Database } from '../../src/storage/database/database.js';
import { openDatabase } from '../../src/storage/database/open-database.js';
import { type Checkpoint, readHistory, saveOutput, saveStep } from '../../src/storage/dbos/checkpoints.js';
import { rowOf } from '../../src/storage/runs/calls.js';
import { insertRun } from '../../src/storage/runs/runs.js';
import { createEngineDatabase, describeEachDatabase, type TestDatabase } from '../harness/database.js';

describeEachDatabase('steps of a workflow', (kind) => {
  let place: TestDatabase;
  let db: Database;
  beforeAll(async () => {
    place = await createEngineDatabase(kind);
    db = await openDatabase(place.options);
    await db.knex.transaction(async (trx) => {
      for (const id of ['kept', 'lost', 'cancelled', 'called', 'settled', 'ended']) {
        await trx('dbos.workflow_status').insert({ workflow_uuid: id, status: 'PENDING', name: 'n', owner_xid: 'me' });
        await insertRun(trx, {
          ...{ id, tenant: 'default', agent: 'a', agentVersion: '1', agentHash: 'h', priority: 1, input: 'go' },
          ...{ grants: [], limits: { maxTurns: 1, maxTotalTokens: null, maxDurationMs: null }, metadata: {} },
        });
      }
    });
  });
  afterAll(async () => {
    await db.close();
    await place.drop();
  });

  const stepOf = (workflowId: string, more: Partial<Checkpoint> = {}): Checkpoint => ({
    ...{ workflowId, functionId: 3, functionName: 'step', owner: 'me', output: '{"json":1}', error: null },
    ...{
      childWorkflowID: null,
      serialization: 'js_superjson',
      startedAt: 10,
      completedAt: 20,
      application: 'a',
      ...more,
    },
  });
  const keep = (step: Checkpoint, call: Parameters<typeof saveStep>[3] = null) => saveStep(db.pool, 'dbos', step, call);
  const stepsOf = async (id: string) => [...(await readHistory(db.pool, 'dbos', id)).steps];
  const callOf = (runId: string, output: string) =>
    rowOf(
      {
        ...{ runId, callId: 'c', tenant: 'default', tool: 't', toolVersion: '1', effect: 'pure', digest: 'd' },
        ...{ execution: 'e', worker: 'w', epoch: 1 },
      },
      { type: 'output', output },
    );
  const outcomeOf = (runId: string) => db.knex('holdfast.calls').where({ run_id: runId }).pluck('outcome');

  it('are kept once, and found again', async () => {
    expect(await keep(stepOf('kept'))).toBe(20);
    // Sent again, because the answer was lost; and by an execution that has it otherwise.
    expect(await keep(stepOf('kept'))).toBe(20);
    expect(await keep(stepOf('kept', { completedAt: 30, output: 'other' }))).toBe(20);
    const { output, functionName, serialization, error, childWorkflowID } = stepOf('kept');
    expect(await readHistory(db.pool, 'dbos', 'kept')).toMatchObject({ status: 'PENDING' });
    expect(await stepsOf('kept')).toMatchObject([[3, { output, functionName, serialization, error, childWorkflowID }]]);
  });

  it('are not kept for the caller that has lost the workflow', async () => {
    expect(await keep(stepOf('lost', { owner: 'another' }), callOf('lost', 'x'))).toBeNull();
    expect(await stepsOf('lost')).toEqual([]);
    expect(await outcomeOf('lost')).toEqual([]);
  });

  it('are not kept when the workflow is cancelled', async () => {
    await db.knex('dbos.workflow_status').where({ workflow_uuid: 'cancelled' }).update({ owner_xid: null });
    expect(await keep(stepOf('cancelled'))).toBeNull();
    expect(await stepsOf('cancelled')).toEqual([]);
  });

  it('are kept together with the outcome of a call', async () => {
    expect(await keep(stepOf('called'), callOf('called', 'x'))).toBe(20);
    expect(await keep(stepOf('called'), callOf('called', 'x'))).toBe(20);
    expect(await stepsOf('called')).toHaveLength(1);
    expect(await outcomeOf('called')).toEqual(['{"output":"x","type":"output"}']);
  });

  it('are not kept beside another outcome: the first one stands', async () => {
    await db.knex('holdfast.calls').insert(callOf('settled', 'first'));
    expect(await keep(stepOf('settled'), callOf('settled', 'second'))).toBeNull();
    expect(await stepsOf('settled')).toEqual([]);
    expect(await outcomeOf('settled')).toEqual(['{"output":"first","type":"output"}']);
  });

  it('end once, with what their workflow gave, and only for the caller that has it', async () => {
    const end = (owner: string, output: string) => saveOutput(db.pool, 'dbos', { workflowId: 'ended', owner, output });
    const kept = () => db.knex('dbos.workflow_output').where({ workflow_uuid: 'ended' }).pluck('output');
    expect(await end('another', 'x')).toBe(false);
    expect(await kept()).toEqual([]);
    expect(await end('me', 'y')).toBe(true);
    expect(await end('me', 'z')).toBe(false);
    expect(await kept()).toEqual(['y']);
    const row = await db.knex('dbos.workflow_status').where({ workflow_uuid: 'ended' }).first();
    expect(row).toMatchObject({ status: 'SUCCESS', owner_xid: null, completed_at: expect.anything() });
    expect(await keep(stepOf('ended'))).toBeNull();
  });

  it('of a workflow that does not exist are none', async () => {
    expect(await readHistory(db.pool, 'dbos', 'nobody')).toEqual({ status: null, steps: new Map() });
  });
});
