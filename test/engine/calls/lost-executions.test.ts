import { Agent, Usage } from '@openai/agents';
import { expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import { createEngine, defineAgent, defineTool, type EngineConfig, functionModel } from '../../../src/index.js';
import { openDatabase } from '../../../src/storage/database/open-database.js';
import { createEngineDatabase, describeEachDatabase, describePostgres } from '../../harness/database.js';
import { ADMIN, engineFor, runToRest } from '../../harness/engine.js';
import { call, scripted } from '../../harness/script.js';
import { SLOW } from '../../harness/slow.js';

const PRICE = { inputPerMillion: '0', outputPerMillion: '1000' };

/** What an execution leaves that was given up: it asks no model, and every sum is that of its charges. */
describePostgres('a process that was taken over while it asked a model', () => {
  it('asks it no more', async () => {
    const database = await createEngineDatabase('postgres');
    let asked = 0;
    let fail = (): void => {};
    const model = functionModel('busy', async () => {
      asked += 1;
      await new Promise<void>((resolve) => {
        fail = resolve;
      });
      throw Object.assign(new Error('try it again'), { status: 503 });
    });
    const config: EngineConfig = {
      ...database.options,
      ...{ workerId: 'test', prices: { 'object/busy': PRICE }, onFatal: () => {} },
      agents: [new Agent({ name: 'busy', model, modelSettings: { maxTokens: 100 } })],
    };
    const zombie = await createEngine(config);
    onTestFinished(() => zombie.stop({ graceMs: 0 }));
    const beside = await openDatabase(database.options);
    const { id } = await zombie.startRun({ agent: 'busy', input: 'go' }, ADMIN);
    await expect.poll(() => asked).toBe(1);
    await beside.knex.raw(
      `update dbos.workflow_status set status = 'ENQUEUED', owner_xid = null, queue_name = 'of another process' where workflow_uuid = ?`,
      [id],
    );
    await beside.knex.raw('update holdfast.workers set epoch = epoch + 1');
    fail();
    // Longer than the pause before the next attempt.
    await new Promise((resolve) => setTimeout(resolve, 3000));
    expect(asked).toBe(1);
    await zombie.stop({ graceMs: 500 });
    await beside.close();
    await database.drop();
  });
});

describeEachDatabase('a run that ends while it waits', (kind) => {
  const pay = defineTool({
    ...{ name: 'pay', description: 'Pays.', input: z.object({}), output: z.string(), effect: 'unsafe' },
    execute: () => 'paid',
  });
  const usage = new Usage({ inputTokens: 1, outputTokens: 100, totalTokens: 101 });
  const said = scripted([[call('pay', {})]]);
  const model = functionModel('asker', async (request) => ({ ...(await said.getResponse(request)), usage }));
  const agent = new Agent({ name: 'asker', tools: [pay], model, modelSettings: { maxTokens: 100 } });
  const t = engineFor(kind, {
    agents: [defineAgent({ agent, grants: [{ capability: 'tool:call:pay', effect: 'ask' }] })],
    prices: { 'object/asker': PRICE },
  });

  it.runIf(SLOW)('costs what its charges say, and none stays reserved', async () => {
    const { id } = await runToRest(t.engine, 'asker');
    // What an execution has reserved that was lost with its worker.
    await t.between((knex) =>
      knex.raw(
        `insert into holdfast.charges (run_id, turn, execution, attempt, tenant, agent, model, nano_usd, reserved_nano_usd, budgets, state)
         values (?, 2, 'lost', 1, 'default', 'asker', 'object/asker', 5000000, 5000000, '[]', 'reserved')`,
        [id],
      ),
    );
    const run = await t.engine.cancelRun(id, null, ADMIN);
    const { items } = await t.engine.listCharges(id, { after: 0, limit: 10 }, ADMIN);
    expect(items.map(({ state, costUsd }) => [state, costUsd])).toEqual([
      ['settled', '0.1'],
      ['assumed', '0.005'],
    ]);
    expect(run).toMatchObject({ status: 'cancelled', costUsd: '0.105' });
  });
});
