import { SystemDatabase } from '@dbos-inc/dbos-sdk/internal/system_database';
import { Agent } from '@openai/agents';
import { expect, it } from 'vitest';
import { hookDequeue } from '../../../src/engine/dbos/dequeue-hook.js';
import { createEngine, type Engine, type EngineConfig } from '../../../src/index.js';
import { createEngineDatabase, describeEachDatabase } from '../../harness/database.js';
import { ADMIN, restOf } from '../../harness/engine.js';
import { say, scripted } from '../../harness/script.js';
import { SLOW } from '../../harness/slow.js';

const take = async () => [];
const began = () => undefined;
const ended = () => undefined;

describeEachDatabase('the door to what the dispatcher takes', (kind) => {
  const withEngine = async (config: Partial<EngineConfig>, check: (engine: Engine) => Promise<void>) => {
    const database = await createEngineDatabase(kind);
    const agents = [new Agent({ name: 'echo', model: scripted([[say('hello')]]) })];
    try {
      const engine = await createEngine({ ...database.options, workerId: 'test', agents, ...config });
      await check(engine).finally(() => engine.stop({ graceMs: 500 }));
    } finally {
      await database.drop();
    }
  };

  it.runIf(SLOW)(
    'is open behind the launch of DBOS, so that limits may be set, and closed where it is not launched',
    async () => {
      await withEngine({ tenants: { each: { concurrency: 1 } } }, async (engine) => {
        const { id } = await engine.startRun({ agent: 'echo', input: 'hi' }, ADMIN);
        expect(await restOf(engine, id)).toMatchObject({ status: 'completed' });
      });
      expect(hookDequeue('another queue', { take, began, ended })).toBe(false);
    },
  );

  it.runIf(SLOW)('that is closed lets runs work, and no limit be set', async () => {
    const { findAndMarkStartableWorkflows: method } = SystemDatabase.prototype;
    // As in another build of DBOS, where the dispatcher asks by another name.

    Object.assign(SystemDatabase.prototype, { findAndMarkStartableWorkflows: undefined });
    try {
      await expect(withEngine({ tenants: { each: { concurrency: 1 } } }, async () => undefined)).rejects.toMatchObject({
        code: 'library_changed',
      });
      await withEngine({}, async (engine) => {
        Object.assign(SystemDatabase.prototype, { findAndMarkStartableWorkflows: method });
        const { id } = await engine.startRun({ agent: 'echo', input: 'hi' }, ADMIN);
        expect(await restOf(engine, id)).toMatchObject({ status: 'completed', output: 'hello' });
      });
    } finally {
      Object.assign(SystemDatabase.prototype, { findAndMarkStartableWorkflows: method });
    }
  });
});
