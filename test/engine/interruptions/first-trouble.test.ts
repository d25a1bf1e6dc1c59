import { Agent } from '@openai/agents';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { z } from 'zod';
import { createEngine, defineAgent, defineTool, type Engine, HoldfastError } from '../../../src/index.js';
import type { Database } from '../../../src/storage/database/database.js';
import { openDatabase } from '../../../src/storage/database/open-database.js';
import {
  createEngineDatabase,
  describeEachDatabase,
  describePostgres,
  type TestDatabase,
} from '../../harness/database.js';
import { ADMIN, BOB, pendingOf, restOf, runToRest } from '../../harness/engine.js';
import { call, say, scripted } from '../../harness/script.js';
import { SLOW } from '../../harness/slow.js';

/** What goes wrong first in a transaction is what is told, whatever fails because of it. */

const pay = defineTool({
  ...{ name: 'pay', description: 'Pays.', input: z.object({}), output: z.string(), effect: 'unsafe' },
  execute: () => 'paid',
});
const agents = [
  defineAgent({
    agent: new Agent({ name: 'payer', tools: [pay], model: scripted([[call('pay', {}, 'pay_1')], [say('done')]]) }),
    grants: [{ capability: 'tool:call:*', effect: 'ask' }],
  }),
];

/** Refuses to keep what is put into the queue, as a server with no room does. */
const REFUSING = `
  create function refuse() returns trigger language plpgsql as
    $$ begin raise exception 'could not extend file: No space left on device' using errcode = '53100'; end $$;
  create trigger refuse before insert on dbos.workflow_status for each row execute function refuse()`;
const TAKING = 'drop trigger refuse on dbos.workflow_status; drop function refuse';

describeEachDatabase('a database that has no room for a segment', (kind) => {
  let database: TestDatabase;
  let opened: Database | undefined;
  let engine: Engine;
  beforeEach(async () => {
    database = await createEngineDatabase(kind);
  });
  afterEach(async () => {
    await engine.stop({ graceMs: 0 });
    await opened?.close();
    await database.drop();
  });
  const start = () => createEngine({ agents, ...database.options, workerId: 'test' });
  /** The embedded database is its process's alone. */
  const between = async (sql: string): Promise<void> => {
    await engine.stop({ graceMs: 500 });
    const direct = await openDatabase(database.options);
    await direct.knex.raw(sql);
    await direct.close();
    engine = await start();
  };

  it.runIf(SLOW)('says so to who starts and to who decides, and takes both later', async () => {
    engine = await start();
    const waits = await runToRest(engine, 'payer');
    const pending = await pendingOf(engine, waits.id, 'pay');
    const approve = () => engine.decide(pending?.id ?? '', { verdict: 'approve' }, BOB);
    await between(REFUSING);
    const full = { code: 'database_full', status: 503, cause: { code: '53100' } };
    await expect(engine.startRun({ agent: 'payer', input: 'go' }, ADMIN)).rejects.toMatchObject(full);
    await expect(approve()).rejects.toMatchObject(full);
    await between(TAKING);
    await approve();
    expect(await restOf(engine, waits.id)).toMatchObject({ status: 'completed' });
  });
});

describePostgres('a connection that is lost in a transaction', () => {
  let database: TestDatabase;
  let engine: Engine;
  let direct: Database;
  beforeEach(async () => {
    database = await createEngineDatabase('postgres');
    direct = await openDatabase(database.options);
    engine = await createEngine({ agents, ...database.options, workerId: 'test' });
  });
  afterEach(async () => {
    await engine.stop({ graceMs: 0 });
    await direct.close();
    await database.drop();
  });
  const loseInTransaction = (after: () => Promise<unknown>) =>
    direct.knex.transaction(async (trx) => {
      const { rows } = await trx.raw('select pg_backend_pid() as pid');
      await direct.pool.query('select pg_terminate_backend($1)', [rows[0].pid]);
      await after();
    });

  it('does not hide what was thrown in it, nor what the server said', async () => {
    const refused = new HoldfastError('run_unknown', 'There is no such run.');
    await expect(loseInTransaction(() => Promise.reject(refused))).rejects.toBe(refused);
    // Its pool may not know yet that the connection is gone.
    const one = () => direct.knex.transaction((trx) => trx.select(trx.raw('1 as one'))).catch(String);
    await expect.poll(one).toEqual([{ one: 1 }]);
    await expect(
      direct.knex.transaction((trx) => trx.raw('select pg_terminate_backend(pg_backend_pid())')),
    ).rejects.toMatchObject({ code: '57P01' });
  });

  it('while a segment is put into the queue fails what was asked, and nothing waits for it forever', async () => {
    await direct.knex.raw(`
      create function lose() returns trigger language plpgsql as
        $$ begin perform pg_terminate_backend(pg_backend_pid()); return new; end $$;
      create trigger lose before insert on dbos.workflow_status for each row execute function lose()`);
    await expect(engine.startRun({ agent: 'payer', input: 'go' }, ADMIN)).rejects.toMatchObject({
      code: 'database_unreachable',
      cause: { code: '57P01' },
    });
  });
});
