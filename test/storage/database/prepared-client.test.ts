import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Database } from '../../../src/storage/database/database.js';
import { openDatabase } from '../../../src/storage/database/open-database.js';
import {
  createTestDatabase,
  type DatabaseKind,
  describeEachDatabase,
  describePostgres,
  type TestDatabase,
} from '../../harness/database.js';
import { SLOW } from '../../harness/slow.js';
import { withClient } from '../../harness/with-client.js';

/** What connections do beside what pg does. */

const PREPARED = 'select statement, name from pg_prepared_statements order by name';

/** A database with a table, from before the first test of a suite to after the last one. */
function databaseFor(kind: DatabaseKind): { readonly db: Database } {
  let place: TestDatabase;
  let db: Database;
  beforeAll(async () => {
    place = await createTestDatabase(kind);
    db = await openDatabase(place.options);
    await db.pool.query('create table numbers (n int primary key)');
  });
  afterAll(async () => {
    await db.close();
    await place.drop();
  });
  return {
    get db() {
      return db;
    },
  };
}

describeEachDatabase('A connection', (kind) => {
  const t = databaseFor(kind);

  it('lets the server keep the plan of a statement with values, and gives one text one name', async () => {
    await withClient(t.db.pool, async (client) => {
      await client.query('select 1 + $1::int as kept', [1]);
      await client.query('select 1 + $1::int as kept', [2]);
      const { rows } = await client.query(PREPARED);
      expect(rows.filter((row) => row.statement.includes('as kept'))).toHaveLength(1);
    });
  });

  it('keeps a plan of a statement that gives all columns of a function: its text names them', async () => {
    await withClient(t.db.pool, async (client) => {
      const given = 'select * from json_to_recordset($1::json) as listed (n int)';
      expect((await client.query(given, ['[{"n":1}]'])).rows).toEqual([{ n: 1 }]);
      expect((await client.query(given, ['[{"n":2}]'])).rows).toEqual([{ n: 2 }]);
      const { rows } = await client.query(PREPARED);
      expect(rows.filter((row) => row.statement.includes('as listed'))).toHaveLength(1);
    });
  });

  it.runIf(SLOW)('keeps a plan of what comes again and again, however many statements came once', async () => {
    await withClient(t.db.pool, async (client) => {
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
    const place = await createTestDatabase(kind);
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
      await place.drop();
    }
  });

  it('keeps no plan of a statement that gives all columns: a migration would break it', async () => {
    await withClient(t.db.pool, async (client) => {
      await client.query('select * from numbers where n = $1', [1]);
      await client.query('alter table numbers add column late int');
      const { fields } = await client.query('select * from numbers where n = $1', [1]);
      expect(fields.map((field) => field.name)).toEqual(['n', 'late']);
    });
  });

  it('a statement that the server refuses is no plan, and another one is made when it would do', async () => {
    await withClient(t.db.pool, async (client) => {
      const later = () => client.query('select n from later where n = $1', [1]);
      await expect(later()).rejects.toMatchObject({ code: '42P01' });
      await client.query('create table later (n int primary key)');
      expect((await later()).rows).toEqual([]);
      await client.query('drop table later');
      await expect(later()).rejects.toMatchObject({ code: '42P01' });
    });
  });
});

describe('The embedded database', () => {
  const t = databaseFor('pglite');

  it('lets its connections share a plan, also where they ask for it at once and in open transactions', async () => {
    const text = 'select 4 + $1::int as shared';
    const [one, other] = await Promise.all(
      [1, 2].map((n) =>
        t.db.knex.transaction(async (trx) => {
          await expect(trx.raw('select no_such_column')).rejects.toMatchObject({ code: '42703' });
          await expect(trx.raw(text.replace('$1', '?'), [n])).rejects.toMatchObject({ code: '25P02' });
        }),
      ),
    ).then(() => Promise.all([1, 2].map((n) => t.db.pool.query(text, [n]))));
    expect([one?.rows, other?.rows]).toEqual([[{ shared: 5 }], [{ shared: 6 }]]);
    const { rows } = await t.db.pool.query(PREPARED);
    expect(rows.filter(({ statement }) => statement === text)).toHaveLength(1);
  });

  it('does not keep the plan for a small table when the table has grown', async () => {
    const read = 'select n from numbers where n = $1::int';
    await t.db.pool.query('insert into numbers values (1)');
    await t.db.pool.query('vacuum analyze numbers');
    const byIndex = () =>
      withClient(t.db.pool, async (client) => {
        await client.query('begin');
        await client.query(read, [1]);
        const { rows } = await client.query(
          `select idx_scan::int as scans from pg_stat_xact_user_tables where relname = 'numbers'`,
        );
        await client.query('commit');
        return rows[0].scans;
      });
    for (let n = 0; n < 10; n++) await t.db.pool.query(read, [1]);
    expect(await byIndex()).toBe(0);
    await t.db.pool.query('insert into numbers select generate_series(2, 20000)');
    for (let n = 0; n < 2_000; n++) await t.db.pool.query('select 5 + $1::int as other', [n]);
    expect(await byIndex()).toBe(1);
  });
});

describePostgres('A connection', () => {
  const t = databaseFor('postgres');

  it('keeps nothing of a transaction whose beginning found it broken', async () => {
    await t.db.knex.raw('select 1');
    const ours = 'application_name = ? and pid <> pg_backend_pid()';
    const { rowCount } = await t.db.pool.query(
      `select pg_terminate_backend(pid) from pg_stat_activity where ${ours.replace('?', '$1')}`,
      [t.db.session],
    );
    expect(rowCount).toBeGreaterThan(0);
    const insert = () =>
      t.db.knex.transaction((trx) =>
        trx('numbers')
          .insert({ n: 7 })
          .then(() => trx('numbers').insert({ n: 7 })),
      );
    await expect(insert()).rejects.toThrow();
    expect((await t.db.pool.query('select n from numbers where n = $1', [7])).rows).toEqual([]);
    await t.db.knex.transaction((trx) => trx('numbers').insert({ n: 8 }));
    expect((await t.db.pool.query('select n from numbers where n = $1', [8])).rows).toHaveLength(1);
  });
});
