import { Agent } from '@openai/agents';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { z } from 'zod';
import { createEngine, defineAgent, defineTool, type Engine, HoldfastError } from '../../../src/index.js';
import type { Database } from '../../../src/storage/database/database.js';
import { openDatabase } from '../../../src/storage/database/open-database.js';
import { createEngineDatabase, describePostgres, type TestDatabase } from '../../harness/database.js';
import { BOB, kindsOf, restOf, runToRest } from '../../harness/engine.js';
import { call, scripted } from '../../harness/script.js';
import { SLOW } from '../../harness/slow.js';

/** A decision of which PostgreSQL refuses one statement, whichever, or the commit. */

let paid = 0;
const pay = defineTool({
  ...{ name: 'pay', description: 'Pays.', input: z.object({}), output: z.string(), effect: 'unsafe' },
  approval: true,
  execute: () => {
    paid += 1;
    return 'paid';
  },
});
const agents = [
  defineAgent({
    agent: new Agent({ name: 'payer', tools: [pay], model: scripted([[call('pay', {}, 'a')]]) }),
    grants: ['tool:call:*'],
  }),
];

const PREPARE = `
  create schema refusing;
  create table refusing.rule (tbl text primary key, code text not null, late boolean not null);
  create table refusing.wrote (tbl text, tx bigint);
  create function refusing.check() returns trigger language plpgsql as $$
    declare rule refusing.rule;
    begin
      if not exists (select 1 from refusing.rule) then
        insert into refusing.wrote values (tg_relid::regclass::text, txid_current());
      end if;
      select * into rule from refusing.rule where tbl = tg_relid::regclass::text and late = (tg_when = 'AFTER');
      if found then raise exception 'refused as the test wants it' using errcode = rule.code; end if;
      return coalesce(new, old);
    end $$;
  do $$
    declare t regclass;
    begin
      for t in select c.oid from pg_class c join pg_namespace n on n.oid = c.relnamespace
                where c.relkind = 'r' and n.nspname in ('holdfast', 'dbos') loop
        execute format('create trigger refusing before insert or update or delete on %s for each row execute function refusing.check()', t);
        execute format('create constraint trigger refusing_late after insert or update or delete on %s deferrable initially deferred for each row execute function refusing.check()', t);
      end loop;
    end $$`;

const shown = (error: unknown): object =>
  error instanceof HoldfastError
    ? { named: error.code, status: error.status, cause: Object(error.cause).code }
    : { thrown: String(error) };

describePostgres('a decision', () => {
  let database: TestDatabase;
  let direct: Database;
  let engine: Engine;
  beforeAll(async () => {
    database = await createEngineDatabase('postgres');
    direct = await openDatabase(database.options);
    await direct.knex.raw(PREPARE);
    engine = await createEngine({ agents, ...database.options, workerId: 'test' });
  });
  afterAll(async () => {
    await direct.knex('refusing.rule').delete();
    await engine.stop({ graceMs: 500 });
    await direct.close();
    await database.drop();
  });

  const waits = async () => {
    const { id } = await runToRest(engine, 'payer');
    const { items } = await engine.listInterruptions({ status: 'pending', runId: id, limit: 10 }, BOB);
    return { id, asked: items[0]?.id ?? '' };
  };
  const approve = (asked: string) => engine.decide(asked, { verdict: 'approve' }, BOB);
  /** The tables that the transaction of a decision writes. */
  const written = async (): Promise<string[]> => {
    const { id, asked } = await waits();
    await direct.knex('refusing.wrote').delete();
    await approve(asked);
    await restOf(engine, id);
    const { rows } = await direct.knex.raw(
      `select distinct tbl from refusing.wrote where tx in (select tx from refusing.wrote where tbl = 'holdfast.decisions') order by tbl`,
    );
    return rows.map(({ tbl }: { tbl: string }) => tbl);
  };

  const REFUSALS = [
    ['53100', 'database_full'],
    ['53200', 'database_full'],
    ['40P01', 'database_busy'],
    ['25P02', 'database_busy'],
  ] as const;
  it.each(SLOW ? REFUSALS : REFUSALS.slice(0, 1))(
    'with a statement refused as %s is %s, leaves nothing, and can be sent again',
    async (code, named) => {
      const tables = await written();
      expect(tables).toContain('holdfast.events');
      const refusals: unknown[] = [];
      for (const tbl of tables)
        for (const late of [false, true]) {
          paid = 0;
          const { id, asked } = await waits();
          const before = await kindsOf(engine, id);
          await direct.knex('refusing.rule').insert({ tbl, code, late });
          const refused = approve(asked).catch((error: unknown) => error);
          const error = await refused.finally(() => direct.knex('refusing.rule').delete());
          refusals.push({ tbl, late, ...shown(error) });
          expect(await engine.getInterruption(asked, BOB)).toMatchObject({ status: 'pending', decisions: [] });
          expect(await kindsOf(engine, id)).toEqual(before);
          expect(paid).toBe(0);
          await approve(asked);
          expect(await restOf(engine, id)).toMatchObject({ status: 'completed' });
          expect(paid).toBe(1);
        }
      const each = tables.flatMap((tbl) =>
        [false, true].map((late) => ({ tbl, late, named, status: 503, cause: code })),
      );
      expect(refusals).toEqual(each);
    },
  );
});
