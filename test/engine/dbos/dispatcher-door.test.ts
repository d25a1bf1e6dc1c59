import { Agent } from '@openai/agents';
import { expect, it } from 'vitest';
import { wakeDispatcher } from '../../../src/engine/dbos/dispatcher-hook.js';
import { SEGMENT_QUEUE } from '../../../src/engine/queue/segment-queue.js';
import { createEngine, defineAgent } from '../../../src/index.js';
import { createTestDatabase, describeEachDatabaseSlowly } from '../../harness/database.js';
import { say, scripted } from '../../harness/script.js';

describeEachDatabaseSlowly('the dispatcher', (kind) => {
  it('knows the queue of segments as soon as there is an engine, also on a new database', async () => {
    const database = await createTestDatabase(kind);
    const agents = [defineAgent({ agent: new Agent({ name: 'echo', model: scripted([[say('hello')]]) }) })];
    const engine = await createEngine({ ...database.options, workerId: 'test', agents });
    try {
      expect(wakeDispatcher(SEGMENT_QUEUE)).toBe(true);
      expect(wakeDispatcher('another queue')).toBe(false);
    } finally {
      await engine.stop({ graceMs: 500 });
      await database.drop();
    }
  });
});
