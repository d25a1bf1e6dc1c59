import { Agent } from '@openai/agents';
import { expect, it } from 'vitest';
import { z } from 'zod';
import { createEngine, defineAgent, defineTool, type EngineConfig } from '../../src/index.js';
import { openDatabase } from '../../src/storage/database.js';
import { createEngineDatabase, describePostgres } from '../harness/database.js';
import { ADMIN, eventsOf, restOf } from '../harness/engine.js';
import { call, scripted } from '../harness/script.js';

/** A process that works on although a newer one has its worker id: it acts no more, and breaks nothing by that. */

const paid: string[] = [];
let goOn = (): void => {};

const shape = { input: z.object({}), output: z.string() };
const wait = defineTool({
  name: 'wait',
  description: 'Waits for the test.',
  ...shape,
  effect: 'pure',
  execute: () =>
    new Promise<string>((resolve) => {
      goOn = () => resolve('waited');
    }),
});
const pay = defineTool({
  name: 'pay',
  description: 'Pays.',
  ...shape,
  effect: 'unsafe',
  execute: () => {
    paid.push('paid');
    return 'paid';
  },
});

const until = async (check: () => boolean | Promise<boolean>): Promise<void> => {
  for (let n = 0; n < 400 && !(await check()); n++) await new Promise((resolve) => setTimeout(resolve, 25));
};

describePostgres('a superseded process', () => {
  it('starts no effect, is told once, and leaves the run to its successor', async () => {
    const database = await createEngineDatabase('postgres');
    const outputs = [[call('wait', {})], [call('pay', {})]];
    const config: EngineConfig = {
      ...database.options,
      workerId: 'test',
      agents: [
        defineAgent({
          agent: new Agent({ name: 'payer', model: scripted(outputs), tools: [wait, pay] }),
          grants: ['tool:call:*'],
        }),
      ],
    };
    const fatal: string[] = [];
    const zombie = await createEngine({ ...config, onFatal: (error) => fatal.push(error.code) });
    const { id } = await zombie.startRun({ agent: 'payer', input: 'go' }, ADMIN);
    const kinds = async () => (await eventsOf(zombie, id)).map((event) => event.kind);
    await until(async () => (await kinds()).includes('call.started'));
    const behind = await openDatabase(database.options);
    await behind.knex.raw('update holdfast.workers set epoch = epoch + 1');
    await behind.close();
    goOn();
    await until(() => fatal.length > 0);
    await new Promise((resolve) => setTimeout(resolve, 2500));
    expect(paid).toEqual([]);
    expect(fatal).toEqual(['worker_superseded']);
    await zombie.stop({ graceMs: 500 });

    const successor = await createEngine(config);
    try {
      const done = await restOf(successor, id);
      expect(done).toMatchObject({ status: 'completed', output: 'call_wait=waited | call_pay=paid' });
      expect(paid).toEqual(['paid']);
      expect(await successor.verifyRun(id, ADMIN)).toMatchObject({ ok: true, complete: true });
    } finally {
      await successor.stop({ graceMs: 500 });
      await database.drop();
    }
  });

  it('that also lost its lock for good is told once', async () => {
    const database = await createEngineDatabase('postgres');
    const agents = [defineAgent({ agent: new Agent({ name: 'idle', model: scripted([]) }) })];
    const fatal: string[] = [];
    const config: EngineConfig = { ...database.options, workerId: 'test', agents };
    const zombie = await createEngine({ ...config, onFatal: (error) => fatal.push(error.message) });
    const behind = await openDatabase(database.options);
    const taken = async () => {
      await behind.knex.raw(
        `select pg_terminate_backend(pid) from pg_locks where locktype = 'advisory' and pid <> pg_backend_pid()
            and database = (select oid from pg_database where datname = current_database())`,
      );
      return behind.tryLock('holdfast:worker:test');
    };
    try {
      await until(async () => (await taken()) !== null);
      await behind.knex.raw('update holdfast.workers set epoch = epoch + 1');
      await until(() => fatal.length > 0);
      // Long enough for the lock not to be regained, which is the other reason.
      await new Promise((resolve) => setTimeout(resolve, 4000));
      expect(fatal).toHaveLength(1);
    } finally {
      await behind.close();
      await zombie.stop({ graceMs: 500 });
      await database.drop();
    }
  });
});
