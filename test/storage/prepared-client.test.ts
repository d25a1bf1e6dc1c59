import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Database, openDatabase } from '../../src/storage/database.js';
import { createTestDatabase, describePostgres, type TestDatabase } from '../harness/database.js';
import { withClient } from '../harness/with-client.js';

/** What connections do beside what pg does. */

const PREPARED = 'select statement, name from pg_prepared_statements order by name';

describePostgres('A connection', () => {
  let place: TestDatabase;
  let db: Database;
  beforeAll(async () => {
    place = await createTestDatabase('postgres');
    db = await openDatabase(place.options);
    await db.pool.query('create table numbers (n int primary key)');
  });
  afterAll(async () => {
    await db.close();
    await place.drop();
  });

  it('lets the server keep the plan of a statement with values, and gives one text one name', async () => {
    await withClient(db.pool, async (client) => {
      await client.query('select 1 + $1::int as kept', [1]);
      await client.query('select 1 + $1::int as kept', [2]);
      const { rows } = await client.query(PREPARED);
      expect(rows.filter((row) => row.statement.includes('as kept'))).toHaveLength(1);
    });
  });

  it('keeps a plan of what comes again and again, however many statements came once', async () => {
    await withClient(db.pool, async (client) => {
      await client.query('select 2 + $1::int as hot', [1]);
      for (let n = 0; n < 1200; n++) {
        await client.query(`select ${n} + $1::int as once`, [1]);
        if (n % 100 === 0) await client.query('select 2 + $1::int as hot', [n]);
      }
      const { rows } = await client.query(PREPARED);
      expect(rows.filter((row) => row.statement.includes('as hot'))).toHaveLength(1);
      expect(rows.length).toBeLessThanOrEqual(500);
    });
    // Another one keeps it, too, and what is new.
    const other = await openDatabase(place.options);
    try {
      await withClient(other.pool, async (client) => {
        await client.query('select 2 + $1::int as hot', [1]);
        await client.query('select 3 + $1::int as hotter', [1]);
        const { rows } = await client.query(PREPARED);
        expect(rows.filter((row) => row.statement.includes('as hot'))).toHaveLength(2);
      });
    } finally {
      await other.close();
    }
  });

  it('keeps no plan of a statement that gives all columns: a migration would break it', async () => {
    await withClient(db.pool, async (client) => {
      await client.query('select * from numbers where n = $1', [1]);
      await client.query('alter table numbers add column late int');
      const { fields } = await client.query('select * from numbers where n = $1', [1]);
      expect(fields.map((field) => field.name)).toEqual(['n', 'late']);
    });
  });

  it('keeps nothing of a transaction whose beginning found it broken', async () => {
    await db.knex.raw('select 1');
    const ours = 'application_name = ? and pid <> pg_backend_pid()';
    const { rowCount } = await db.pool.query(
      `select pg_terminate_backend(pid) from pg_stat_activity where ${ours.replace('?', '$1')}`,
      [db.session],
    );
    expect(rowCount).toBeGreaterThan(0);
    const insert = () =>
      db.knex.transaction((trx) =>
        trx('numbers')
          .insert({ n: 7 })
          .then(() => trx('numbers').insert({ n: 7 })),
      );
    await expect(insert()).rejects.toThrow();
    expect((await db.pool.query('select n from numbers where n = $1', [7])).rows).toEqual([]);
    await db.knex.transaction((trx) => trx('numbers').insert({ n: 8 }));
    expect((await db.pool.query('select n from numbers where n = $1', [8])).rows).toHaveLength(1);
  });
});
