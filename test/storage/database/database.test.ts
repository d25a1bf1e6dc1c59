import { AsyncResource } from 'node:async_hooks';
import type pg from 'pg';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import type { Database } from '../../../src/storage/database/database.js';
import { namedTrouble } from '../../../src/storage/database/database-trouble.js';
import { openDatabase } from '../../../src/storage/database/open-database.js';
import { createTestDatabase, describeEachDatabase, type TestDatabase } from '../../harness/database.js';

const ENDED = 'this transaction has ended badly';

describeEachDatabase('A database', (kind) => {
  let place: TestDatabase;
  let db: Database;

  beforeAll(async () => {
    place = await createTestDatabase(kind);
    db = await openDatabase(place.options);
    await db.pool.query('CREATE TABLE items (id text PRIMARY KEY, n int NOT NULL DEFAULT 0)');
  });
  beforeEach(async () => {
    await db.pool.query('TRUNCATE items');
  });
  afterAll(async () => {
    await db.close();
    await place.drop();
  });

  const count = async (): Promise<number> => Number((await db.knex('items').count({ n: '*' }).first())?.n);

  test('says what it is', () => {
    expect(db.kind).toBe(kind);
    expect(new URL(db.url).protocol).toMatch(/^postgres/);
  });

  test('takes and gives every type in the same way', async () => {
    const at = new Date('2031-02-03T04:05:06.789Z');
    const bytes = Buffer.from([0, 1, 254, 255]);
    const { rows } = await db.pool.query(
      `SELECT 9007199254740993::int8 AS big, 1::int4 AS int, 1.50::numeric AS num, 0.5::float8 AS float, true AS yes,
        NULL::text AS nothing, $1::timestamptz AS at, $2::bytea AS bytes, $3::jsonb AS json, $4::text[] AS texts,
        $5::text AS text, $6::int[] AS ints, 'a' = ANY($4) AS found, count(*) AS n`,
      [at, bytes, { a: [1, { b: null }] }, ['a', 'b,"c'], 'ä"\'\\', [1, 2]],
    );
    expect(rows).toEqual([
      {
        big: '9007199254740993',
        int: 1,
        num: '1.50',
        float: 0.5,
        yes: true,
        nothing: null,
        at,
        bytes,
        json: { a: [1, { b: null }] },
        texts: ['a', 'b,"c'],
        text: 'ä"\'\\',
        ints: [1, 2],
        found: true,
        n: '1',
      },
    ]);
  });

  test('keeps no NUL in a text, and the refusal says so', async () => {
    const refused = db
      .knex('items')
      .where({ id: 'a\u0000b' })
      .then(
        () => null,
        (error: unknown) => namedTrouble(error),
      );
    expect(await refused).toMatchObject({ code: 'invalid_request', message: expect.stringContaining('NUL') });
    expect(await count()).toBe(0);
  });

  test('takes the call forms of pg', async () => {
    const text = 'SELECT $1::int AS n';
    const config = { text, values: [2] };
    expect((await db.pool.query(text, [1])).rows).toEqual([{ n: 1 }]);
    expect((await db.pool.query(config)).rows).toEqual([{ n: 2 }]);
    expect((await db.pool.query({ text, values: [3], rowMode: 'array' })).rows).toEqual([[3]]);
    const client = await db.pool.connect();
    const called = await new Promise((resolve, reject) =>
      client.query(config, (error, result) => (error ? reject(error) : resolve(result.rows))),
    );
    expect(called).toEqual([{ n: 2 }]);
    expect(
      await Promise.all([client.query(text, [4]), client.query({ name: 'named', text, values: [5] })]),
    ).toMatchObject([{ rows: [{ n: 4 }] }, { rows: [{ n: 5 }] }]);
    expect((await client.query({ name: 'named', text, values: [6] })).rows).toEqual([{ n: 6 }]);
    client.release();
    const withCallback = await new Promise((resolve) =>
      db.pool.query(text, [7], (_error, result) => resolve(result.rows)),
    );
    expect(withCallback).toEqual([{ n: 7 }]);
  });

  test('counts the rows of a command', async () => {
    const inserted = await db.pool.query("INSERT INTO items (id) VALUES ('a'), ('b')");
    expect(inserted).toMatchObject({ command: 'INSERT', rowCount: 2 });
    expect(await db.pool.query('UPDATE items SET n = 1 WHERE id = $1', ['none'])).toMatchObject({ rowCount: 0 });
    expect(await db.pool.query('SELECT id FROM items')).toMatchObject({ command: 'SELECT', rowCount: 2 });
    expect(await db.knex('items').where({ id: 'a' }).del()).toBe(1);
  });

  test('reports errors as PostgreSQL does, and goes on', async () => {
    await db.pool.query("INSERT INTO items (id) VALUES ('a')");
    await expect(db.pool.query("INSERT INTO items (id) VALUES ('a')")).rejects.toMatchObject({
      code: '23505',
      constraint: 'items_pkey',
      table: 'items',
    });
    await expect(db.pool.query('INSERT INTO items (id) VALUES ($1)', ['a'])).rejects.toMatchObject({ code: '23505' });
    await expect(db.pool.query('SELEC 1')).rejects.toMatchObject({ code: '42601' });
    await expect(db.pool.query('SELECT $1::int', ['x'])).rejects.toMatchObject({ code: '22P02' });
    await expect(db.knex('nowhere').select()).rejects.toMatchObject({ code: '42P01' });
    const ring: { self?: unknown } = {};
    ring.self = ring;
    const client = await db.pool.connect();
    await expect(client.query('SELECT $1::jsonb', [ring])).rejects.toThrow(/circular/i);
    expect((await client.query('SELECT 1 AS one')).rows).toEqual([{ one: 1 }]);
    client.release();
  });

  test('commits and rolls back', async () => {
    await db.knex.transaction(async (trx) => {
      await trx('items').insert({ id: 'kept' });
    });
    const failing = db.knex.transaction(async (trx) => {
      await trx('items').insert({ id: 'dropped' });
      throw new Error(ENDED);
    });
    await expect(failing).rejects.toThrow(ENDED);
    expect(await db.knex('items').pluck('id')).toEqual(['kept']);
  });

  test('rolls back a transaction in which a statement failed', async () => {
    const client = await db.pool.connect();
    await client.query('BEGIN');
    await client.query("INSERT INTO items (id) VALUES ('a')");
    expect(client.getTransactionStatus()).toBe('T');
    await expect(client.query('SELECT nothing')).rejects.toMatchObject({ code: '42703' });
    await expect(client.query('SELECT 1')).rejects.toMatchObject({ code: '25P02' });
    expect(client.getTransactionStatus()).toBe('E');
    expect((await client.query('COMMIT')).command).toBe('ROLLBACK');
    expect(client.getTransactionStatus()).toBe('I');
    client.release();
    expect(await count()).toBe(0);
  });

  test('goes back to a savepoint', async () => {
    await db.knex.transaction(async (trx) => {
      await trx('items').insert({ id: 'a' });
      const inner = trx.transaction(async (savepoint) => {
        await savepoint('items').insert({ id: 'b' });
        throw new Error(ENDED);
      });
      await expect(inner).rejects.toThrow(ENDED);
      await Promise.all([trx('items').insert({ id: 'c' }), trx('items').insert({ id: 'd' })]);
    });
    expect(await db.knex('items').orderBy('id').pluck('id')).toEqual(['a', 'c', 'd']);
  });

  test('shows no one what is not committed', async () => {
    let counted: Promise<number> | undefined;
    const outside = new AsyncContext();
    await db.knex.transaction(async (trx) => {
      await trx('items').insert({ id: 'a' });
      counted = outside.run(count);
      await trx('items').insert({ id: 'b' });
    });
    expect([0, 2]).toContain(await counted);
  });

  test('keeps fifty transactions at once apart', async () => {
    await db.knex('items').insert({ id: 'counter' });
    const results = await Promise.allSettled(
      Array.from({ length: 50 }, (_, i) =>
        db.knex.transaction(async (trx) => {
          const row = await trx('items').where({ id: 'counter' }).forUpdate().first('n');
          await trx('items')
            .where({ id: 'counter' })
            .update({ n: row.n + 1 });
          await trx('items').insert({ id: `${i}` });
          if (i % 5 === 0) throw new Error(ENDED);
        }),
      ),
    );
    expect(results.filter(({ status }) => status === 'rejected')).toHaveLength(10);
    expect(await db.knex('items').where({ id: 'counter' }).first('n')).toEqual({ n: 40 });
    expect(await count()).toBe(41);
  });

  test("gives a transaction's own connection", async () => {
    const rolledBack = db.knex.transaction(async (trx) => {
      const connection: pg.PoolClient = await trx.client.acquireConnection();
      await connection.query('INSERT INTO items (id) VALUES ($1)', ['raw']);
      expect(await trx('items').pluck('id')).toEqual(['raw']);
      throw new Error(ENDED);
    });
    await expect(rolledBack).rejects.toThrow(ENDED);
    expect(await count()).toBe(0);
  });

  test('hands a client back that works, whatever was done with it', async () => {
    for (let i = 0; i < 3; i += 1) {
      const client = await db.pool.connect();
      await expect(client.query('SELECT nothing')).rejects.toThrow();
      client.release();
    }
    expect((await db.pool.query('SELECT 1 AS one')).rows).toEqual([{ one: 1 }]);
  });
});

/** Runs functions where it was made, whatever async context they are called in. */
class AsyncContext {
  readonly run = AsyncResource.bind(<T>(work: () => T): T => work());
}
