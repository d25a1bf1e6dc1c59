import { Agent } from '@openai/agents';
import { expect, it } from 'vitest';
import { z } from 'zod';
import { createEngine, defineAgent, defineTool } from '../../src/index.js';
import { openDatabase } from '../../src/storage/database.js';
import { createEngineDatabase, describePostgresSlowly } from '../harness/database.js';
import { ADMIN } from '../harness/engine.js';
import { call, scripted } from '../harness/script.js';

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

describePostgresSlowly('an execution that DBOS gave up', () => {
  it('is begun again by the worker that has it', async () => {
    const database = await createEngineDatabase('postgres');
    const engine = await createEngine({ agents: [waiter], ...database.options });
    const opened = await openDatabase(database.options);
    try {
      const { id } = await engine.startRun({ agent: 'waiter', input: 'go' }, ADMIN);
      await expect.poll(() => executions, { timeout: 10_000 }).toBe(1);
      // As if its own checkpoint had been written, and the answer lost: DBOS finds that somebody else has the workflow.
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
