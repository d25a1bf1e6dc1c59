import { Agent } from '@openai/agents';
import { expect, it, onTestFinished } from 'vitest';
import { createEngine, defineAgent } from '../../src/index.js';
import { openDatabase } from '../../src/storage/database/open-database.js';
import { appendEvents } from '../../src/storage/log/events.js';
import { lockRun } from '../../src/storage/runs/runs.js';
import { effectTool } from '../crash/effect-tool.js';
import { createEngineDatabase, describePostgres } from '../harness/database.js';
import { runToRest } from '../harness/engine.js';
import { call, scripted } from '../harness/script.js';

describePostgres('the lock of a run', () => {
  it('lets its log be written: the one that holds the log never waits for the run', async () => {
    const { options, drop } = await createEngineDatabase('postgres');
    const agent = new Agent({
      ...{ name: 'payer', model: scripted([[call('pay', { n: 1 })]]) },
      tools: [effectTool('pay', 'unsafe', { approval: true })],
    });
    const engine = await createEngine({ ...options, agents: [defineAgent({ agent, grants: ['tool:call:pay'] })] });
    onTestFinished(() => engine.stop({ graceMs: 0 }));
    const { id } = await runToRest(engine, 'payer');
    await engine.stop();
    const database = await openDatabase(options);
    const { knex } = database;
    try {
      const data = { callId: 'call_pay', tool: 'pay', text: 'No one knows.' };
      const draft = { key: 'meanwhile', parentKey: 'created', kind: 'call.unknown', data } as const;
      await knex.transaction(async (holder) => {
        await lockRun(holder, id);
        await knex.transaction(async (trx) => {
          await trx.raw("set local lock_timeout = '2s'");
          await appendEvents(trx, id, [draft], { at: new Date().toISOString(), worker: null });
        });
      });
      expect(await knex('holdfast.events').where({ run_id: id, kind: 'call.unknown' })).toHaveLength(1);
    } finally {
      await database.close();
      await drop();
    }
  });
});
