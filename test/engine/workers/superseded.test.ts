import { Agent, type Model } from '@openai/agents';
import { expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import { createEngine, defineAgent, defineTool, type EngineConfig, functionModel } from '../../../src/index.js';
import { openDatabase } from '../../../src/storage/database/open-database.js';
import { createEngineDatabase, describePostgres } from '../../harness/database.js';
import { ADMIN, eventsOf, restOf } from '../../harness/engine.js';
import { call, resultsIn, say, scripted } from '../../harness/script.js';

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

/** Its first answer comes when the test says so: it was asked for before, and its call comes after. */
const late = functionModel('late', async ({ input }) => {
  const [paidFor] = resultsIn(input);
  if (paidFor !== undefined) return [say(`call_pay=${paidFor.text}`)];
  if (asked++ === 0)
    await new Promise<void>((resolve) => {
      goOn = resolve;
    });
  return [call('pay', {})];
});
let asked = 0;

const until = (check: () => boolean | Promise<boolean>): Promise<void> => expect.poll(check).toBe(true);
const agentOf = (name: string, model: Model) =>
  defineAgent({ agent: new Agent({ name, model, tools: [wait, pay] }), grants: ['tool:call:*'] });

describePostgres('a superseded process', () => {
  it.each([
    ['asks no model', 'asks', 'call_wait=waited | call_pay=paid'],
    ['starts no effect that a model still asked for', 'answers', 'call_pay=paid'],
  ])('%s, is told once, and leaves the run to its successor', async (_what, agent, output) => {
    paid.length = 0;
    const database = await createEngineDatabase('postgres');
    const config: EngineConfig = {
      ...database.options,
      workerId: 'test',
      agents: [agentOf('asks', scripted([[call('wait', {})], [call('pay', {})]])), agentOf('answers', late)],
    };
    const fatal: string[] = [];
    const zombie = await createEngine({ ...config, onFatal: (error) => fatal.push(error.code) });
    onTestFinished(() => zombie.stop({ graceMs: 0 }));
    const { id } = await zombie.startRun({ agent, input: 'go' }, ADMIN);
    const kinds = async () => (await eventsOf(zombie, id)).map((event) => event.kind);
    if (agent === 'answers') await until(() => asked === 1);
    else await until(async () => (await kinds()).includes('call.started'));
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
      expect(done).toMatchObject({ status: 'completed', output });
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
    onTestFinished(() => zombie.stop({ graceMs: 0 }));
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
