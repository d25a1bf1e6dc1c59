import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Database } from '../../../src/storage/database/database.js';
import { openDatabase } from '../../../src/storage/database/open-database.js';
import { atOneMoment, inOneFlight } from '../../../src/storage/database/transactions.js';
import { createTestDatabase, describeEachDatabase, type TestDatabase } from '../../harness/database.js';

/** Statements that are sent together. */

interface Counter {
  readonly id: number;
  readonly n: number;
}

describeEachDatabase('statements in one flight', (kind) => {
  let place: TestDatabase;
  let db: Database;
  beforeAll(async () => {
    place = await createTestDatabase(kind);
    db = await openDatabase(place.options);
    await db.knex.raw('create table counters (id int primary key, n int not null)');
    await db.knex.raw('insert into counters values (1, 0), (2, 0)');
  });
  afterAll(async () => {
    await db.close();
    await place.drop();
  });
  const counter = (id: number) => db.knex<Counter>('counters').where({ id }).select('id', 'n');

  it('are executed in their order, and give their rows', async () => {
    const raise = db.knex<Counter>('counters').where({ id: 1 }).increment('n', 1);
    const [, [raised], [other]] = await inOneFlight<[object, Counter, Counter]>(db.knex, [
      raise,
      counter(1),
      counter(2),
    ]);
    expect([raised, other]).toEqual([
      { id: 1, n: 1 },
      { id: 2, n: 0 },
    ]);
  });

  it('of one moment see nothing that others commit meanwhile, and write nothing', async () => {
    await atOneMoment(db.knex, async (trx) => {
      const [before] = await trx<Counter>('counters').where({ id: 2 }).select('n');
      // An embedded database has one connection.
      if (kind === 'postgres') await db.knex<Counter>('counters').where({ id: 2 }).update({ n: 5 });
      expect(await trx<Counter>('counters').where({ id: 2 }).select('n')).toEqual([before]);
    });
    const written = atOneMoment(db.knex, (trx) => trx<Counter>('counters').where({ id: 2 }).update({ n: 6 }));
    await expect(written).rejects.toMatchObject({ code: '25006' });
    await db.knex<Counter>('counters').where({ id: 2 }).update({ n: 0 });
  });

  it('belong to the transaction that they are sent in', async () => {
    const undone = db.knex.transaction(async (trx) => {
      await inOneFlight(trx, [trx<Counter>('counters').where({ id: 2 }).update({ n: 7 })]);
      const [[seen]] = await inOneFlight<[Counter]>(trx, [trx<Counter>('counters').where({ id: 2 }).select('id', 'n')]);
      expect(seen).toEqual({ id: 2, n: 7 });
      throw new Error('undone');
    });
    await expect(undone).rejects.toThrow('undone');
    expect(await counter(2)).toEqual([{ id: 2, n: 0 }]);
  });

  it('fail with the first that fails, and leave the connection as it was', async () => {
    const wrong = db.knex.select(db.knex.raw('1 / 0'));
    await expect(inOneFlight(db.knex, [counter(1), wrong, counter(2)])).rejects.toThrow('division by zero');
    expect(await counter(2)).toEqual([{ id: 2, n: 0 }]);
  });

  it('are not sent when their transaction has ended: its connection may be another’s', async () => {
    const trx = await db.knex.transaction();
    await trx.rollback();
    await expect(inOneFlight(trx, [counter(1)])).rejects.toMatchObject({ code: 'internal' });
  });

  if (kind === 'pglite') return;
  it('read behind a lock what those who held it have committed', async () => {
    const holder = await db.knex.transaction();
    await holder<Counter>('counters').where({ id: 1 }).update({ n: 50 });
    await holder<Counter>('counters').where({ id: 2 }).update({ n: 60 });
    const waiting = db.knex.transaction((trx) =>
      inOneFlight<[Counter, Counter]>(trx, [
        trx<Counter>('counters').where({ id: 1 }).forUpdate().select('id', 'n'),
        trx<Counter>('counters').where({ id: 2 }).select('id', 'n'),
      ]),
    );
    await untilSomebodyWaits(db);
    await holder.commit();
    expect(await waiting).toEqual([[{ id: 1, n: 50 }], [{ id: 2, n: 60 }]]);
  });
});

async function untilSomebodyWaits(db: Database): Promise<void> {
  const waiting = "select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'";
  for (let look = 0; look < 500; look++) {
    if ((await db.pool.query(waiting)).rows.length > 0) return;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  throw new Error('no one waits for the lock');
}
