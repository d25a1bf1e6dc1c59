import { Agent } from '@openai/agents';
import { expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import { createEngine, defineAgent, defineTool } from '../../../src/index.js';
import { openDatabase } from '../../../src/storage/database/open-database.js';
import { workflowIdOf } from '../../../src/storage/dbos/workflow-id.js';
import { createEngineDatabase, describePostgres } from '../../harness/database.js';
import { ADMIN, BOB, restOf } from '../../harness/engine.js';
import { call, scripted } from '../../harness/script.js';

/** An execution that stood still after the begin of its segment, while another one took the segment over and went on. */

const paid: string[] = [];
const pay = defineTool({
  name: 'pay',
  description: 'Pays.',
  input: z.object({}),
  output: z.string(),
  effect: 'unsafe',
  approval: 'always',
  execute: (_input, { runId }) => {
    paid.push(runId);
    return 'paid';
  },
});

describePostgres('an execution of a segment that was taken over', () => {
  it('fails no run by what the one that goes on has done since', async () => {
    const database = await createEngineDatabase('postgres');
    const agent = new Agent({ name: 'payer', model: scripted([[call('pay', {})]]), tools: [pay] });
    const engine = await createEngine({
      ...database.options,
      agents: [defineAgent({ agent, grants: ['tool:call:*'] })],
    });
    onTestFinished(() => engine.stop({ graceMs: 0 }));
    const behind = await openDatabase(database.options);
    onTestFinished(() => behind.close());
    const { id } = await engine.startRun({ agent: 'payer', input: 'go' }, ADMIN);
    await restOf(engine, id);
    const { items } = await engine.listInterruptions({ runId: id, limit: 10 }, BOB);
    const workflow = { workflow_uuid: workflowIdOf(id, 1) };
    const steps = () => behind.knex('dbos.operation_outputs').where(workflow).pluck('function_name');
    const ended = { outcome: '{"status":"completed","output":"by the other"}', finished_at: behind.knex.fn.now() };

    await behind.knex.transaction(async (trx) => {
      // The execution records its begin, and stands still before it looks at anything else.
      await trx.raw('lock table holdfast.crashes in access exclusive mode');
      await engine.decide(items[0]?.id ?? '', { verdict: 'approve' }, BOB);
      await expect.poll(steps).toContain('segment:begin');
      await behind.knex('dbos.workflow_status').where(workflow).update({ owner_xid: 'another execution' });
      const by = { tenant: 'default', execution: 'other', worker: 'other', epoch: 1 };
      const of = { tool: 'pay', tool_version: '1', effect: 'unsafe', digest: 'other' };
      await behind
        .knex('holdfast.calls')
        .insert({ run_id: id, call_id: items[0]?.callId ?? '', ...by, ...of, ...ended });
    });
    await new Promise((resolve) => setTimeout(resolve, 1500));
    expect((await engine.getRun(id, ADMIN)).status).toBe('running');
    expect(paid).toEqual([]);

    // What the other one did is undone, and the segment is executed by one that owns it.
    await behind.knex('holdfast.calls').where({ run_id: id }).delete();
    await behind.knex('dbos.workflow_status').where(workflow).update({ status: 'ENQUEUED', owner_xid: null });
    expect(await restOf(engine, id)).toMatchObject({ status: 'completed' });
    expect(paid).toEqual([id]);
  });
});
