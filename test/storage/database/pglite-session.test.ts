import { AsyncResource } from 'node:async_hooks';
import { rm } from 'node:fs/promises';
import type pg from 'pg';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { Database } from '../../../src/storage/database/database.js';
import { openPglite } from '../../../src/storage/database/pglite/pglite.js';
import { createTestDatabase, type TestDatabase } from '../../harness/database.js';
import { withClient } from '../../harness/with-client.js';
import { runChild } from '../child.js';

const IDLE_TIMEOUT_MS = 400;
const REFUSED = { code: 'internal', message: expect.stringContaining('inside an open transaction') };
/** Runs functions in the async context of this module, which is inside of no transaction. */
const outside = AsyncResource.bind((work: () => void): void => work());
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/** What is only true of one session that many share. */
describe('The one session of PGlite', () => {
  let place: TestDatabase;
  let db: Database;

  beforeAll(async () => {
    place = await createTestDatabase('pglite');
    db = await openPglite(place.options.dataDir, IDLE_TIMEOUT_MS);
    await db.pool.query('CREATE TABLE items (id text PRIMARY KEY)');
  });
  beforeEach(async () => {
    await db.pool.query('TRUNCATE items');
  });
  afterAll(async () => {
    await db.close();
    await rm(place.options.dataDir, { recursive: true, force: true });
  });

  const ids = (): Promise<string[]> => db.knex('items').orderBy('id').pluck('id');
  const insert = (client: pg.PoolClient | pg.Pool, id: string) =>
    client.query('INSERT INTO items (id) VALUES ($1)', [id]);

  test('timers have their turn while statement follows on statement', async () => {
    let ticks = 0;
    const timer = setInterval(() => ticks++, 1);
    for (let n = 0; n < 10_000 && ticks < 3; n++) await db.pool.query('SELECT 1');
    clearInterval(timer);
    expect(ticks).toBe(3);
  });

  test('a lone statement queues behind an open transaction', async () => {
    const order: string[] = [];
    const lone = async (): Promise<void> => {
      await pause(5);
      await insert(db.pool, 'lone');
      order.push('lone');
    };
    const waiting = lone();
    await withClient(db.pool, async (holder) => {
      await holder.query('BEGIN');
      await insert(holder, 'a');
      await pause(50);
      await insert(holder, 'b');
      order.push('commit');
      await holder.query('COMMIT');
    });
    await waiting;
    expect(order).toEqual(['commit', 'lone']);
    expect(await ids()).toEqual(['a', 'b', 'lone']);
  });

  test('a client that is given back inside a transaction is rolled back', async () => {
    await withClient(db.pool, async (client) => {
      await client.query('BEGIN');
      await insert(client, 'a');
    });
    expect(await ids()).toEqual([]);
    await expect(
      withClient(db.pool, async (client) => {
        await client.query('BEGIN');
        await insert(client, 'b');
        throw new Error('thrown');
      }),
    ).rejects.toThrow('thrown');
    expect(await ids()).toEqual([]);
  });

  test('a second connection inside an open transaction is refused, and the transaction goes on', async () => {
    await db.knex.transaction(async (trx) => {
      await trx('items').insert({ id: 'a' });
      await expect(db.knex('items').insert({ id: 'b' })).rejects.toMatchObject(REFUSED);
      await expect(db.knex('items').select()).rejects.toMatchObject(REFUSED);
      await expect(db.knex.transaction(async (inner) => inner('items').insert({ id: 'b' }))).rejects.toMatchObject(
        REFUSED,
      );
      await expect(db.pool.query('SELECT 1')).rejects.toMatchObject(REFUSED);
      await expect(withClient(db.pool, (client) => client.query('BEGIN'))).rejects.toMatchObject(REFUSED);
      await trx('items').insert({ id: 'c' });
    });
    expect(await ids()).toEqual(['a', 'c']);
  });

  test('also however deep it is called, and also when many wait for the session', async () => {
    const deep = async (): Promise<void> => {
      await pause(1);
      await new Promise((resolve) => setImmediate(resolve));
      await db.knex('items').insert({ id: 'deep' });
    };
    const all = Array.from({ length: 30 }, (_, i) =>
      db.knex.transaction(async (trx) => {
        await trx('items').insert({ id: `${i}` });
        if (i % 3 === 0) await deep();
      }),
    );
    const settled = await Promise.allSettled(all);
    expect(settled.map(({ status }) => status)).toEqual(
      Array.from({ length: 30 }, (_, i) => (i % 3 === 0 ? 'rejected' : 'fulfilled')),
    );
    expect(await ids()).toHaveLength(20);
  });

  test('transactions that one function begins at once are not inside of one another', async () => {
    await Promise.all([
      db.knex.transaction(async (trx) => trx('items').insert({ id: 'a' })),
      db.knex.transaction(async (trx) => trx('items').insert({ id: 'b' })),
      db.knex('items').insert({ id: 'c' }),
      withClient(db.pool, async (client) => {
        await client.query('BEGIN');
        await insert(client, 'd');
        await client.query('COMMIT');
      }),
    ]);
    expect(await ids()).toEqual(['a', 'b', 'c', 'd']);
  });

  test('what began before a transaction is outside, also in a process that follows async contexts only now', async () => {
    const child = runChild(`
      import { enterTransaction, followContexts, Lease, transactionHere } from './database/pglite/pglite-lease.js';
      followContexts();
      let go;
      const gate = new Promise((resolve) => { go = resolve; });
      const before = (async () => {
        await gate;
        return transactionHere() === null ? 'outside' : 'inside';
      })();
      await (async () => {
        await null;
        enterTransaction(new Lease({}, 'dbos'));
        go();
        await before;
        console.log(transactionHere() === null ? 'outside' : 'inside');
      })();
      console.log(await before);`);
    expect([await child.line(), await child.line()]).toEqual(['inside', 'outside']);
  });

  test('a loop that was started inside a transaction is outside of it when that is over', async () => {
    let loop: Promise<void> | undefined;
    const runs: string[] = [];
    await db.knex.transaction(async (trx) => {
      await trx('items').insert({ id: 'a' });
      loop = (async () => {
        await pause(60);
        for (let i = 0; i < 3; i += 1) {
          await db.knex.transaction(async (own) => own('items').insert({ id: `loop ${i}` }));
          runs.push(...(await ids()));
          await pause(5);
        }
      })();
    });
    await loop;
    expect(await ids()).toEqual(['a', 'loop 0', 'loop 1', 'loop 2']);
  });

  test('what is sent beside a COMMIT waits for it', async () => {
    await withClient(db.pool, async (client) => {
      await client.query('BEGIN');
      await insert(client, 'a');
      const [, counted] = await Promise.all([client.query('COMMIT'), db.pool.query('SELECT id FROM items')]);
      expect(counted.rows).toEqual([{ id: 'a' }]);
    });
  });

  test('a transaction that is forgotten is rolled back, so that it does not block all others', async () => {
    const client = await db.pool.connect();
    await client.query('BEGIN');
    await insert(client, 'forgotten');
    // Not refused: the one that asks in another context may wait.
    const other = await new Promise<string[]>((resolve, reject) => {
      outside(() => void ids().then(resolve, reject));
    });
    expect(other).toEqual([]);
    await expect(client.query('COMMIT')).rejects.toMatchObject({ code: '25P03' });
    expect((await client.query('SELECT 1 AS one')).rows).toEqual([{ one: 1 }]);
    client.release();
  });

  test('a transaction that works for longer than that is left alone', async () => {
    await db.knex.transaction(async (trx) => {
      await trx('items').insert({ id: 'a' });
      for (let i = 0; i < 8; i += 1) {
        await pause(IDLE_TIMEOUT_MS / 4);
        await trx.raw('SELECT 1');
      }
    });
    expect(await ids()).toEqual(['a']);
  });

  describe('A read of DBOS inside its own transaction', () => {
    test('joins it', async () => {
      await withClient(db.pool, async (client) => {
        await client.query('BEGIN');
        await insert(client, 'a');
        expect((await db.pool.query('SELECT id FROM items')).rows).toEqual([{ id: 'a' }]);
        await withClient(db.pool, async (reader) => {
          await reader.query('BEGIN ISOLATION LEVEL READ COMMITTED READ ONLY');
          await reader.query('SET LOCAL statement_timeout = 12345');
          expect((await reader.query('SELECT count(*) AS n FROM items')).rows).toEqual([{ n: '1' }]);
          await reader.query('COMMIT');
        });
        expect((await client.query('SHOW statement_timeout')).rows).toEqual([{ statement_timeout: '0' }]);
        await insert(client, 'b');
        await client.query('COMMIT');
      });
      expect(await ids()).toEqual(['a', 'b']);
    });

    test('leaves it whole when it fails or is given up', async () => {
      await withClient(db.pool, async (client) => {
        await client.query('BEGIN');
        await insert(client, 'a');
        await expect(db.pool.query('SELECT nothing FROM items')).rejects.toMatchObject({ code: '42703' });
        await withClient(db.pool, async (reader) => {
          await reader.query('BEGIN READ ONLY');
          await expect(reader.query('SELECT nothing')).rejects.toMatchObject({ code: '42703' });
          await reader.query('ROLLBACK');
        });
        await withClient(db.pool, (reader) => reader.query('BEGIN READ ONLY'));
        await insert(client, 'b');
        await client.query('COMMIT');
      });
      expect(await ids()).toEqual(['a', 'b']);
    });

    test('does not lose what its transaction writes at the same time', async () => {
      await withClient(db.pool, async (client) => {
        await client.query('BEGIN');
        await Promise.all([
          insert(client, 'a'),
          db.pool.query('SELECT count(*) FROM items'),
          db.pool.query('SELECT nothing FROM items').catch(() => {}),
          insert(client, 'b'),
        ]);
        await client.query('COMMIT');
      });
      expect(await ids()).toEqual(['a', 'b']);
    });

    test('may not write or lock', async () => {
      await withClient(db.pool, async (client) => {
        await client.query('BEGIN');
        await expect(insert(db.pool, 'x')).rejects.toMatchObject(REFUSED);
        await expect(db.pool.query('SELECT id FROM items FOR UPDATE')).rejects.toMatchObject(REFUSED);
        await expect(db.knex('items').select()).rejects.toMatchObject(REFUSED);
        await client.query('COMMIT');
      });
    });
  });

  test('one connection stops listening, the others go on', async () => {
    const [first, second] = [await db.pool.connect(), await db.pool.connect()];
    const heard: string[] = [];
    first.on('notification', ({ payload }) => heard.push(`first ${payload}`));
    second.on('notification', ({ payload }) => heard.push(`second ${payload}`));
    await Promise.all([first.query('LISTEN things'), second.query('LISTEN things')]);
    await db.pool.query("NOTIFY things, '1'");
    await first.query('UNLISTEN *');
    await db.pool.query("NOTIFY things, '2'");
    await expect.poll(() => heard.toSorted()).toEqual(['first 1', 'second 1', 'second 2']);
    first.release(true);
    second.release(true);
  });

  test('statements of one name on two clients do not disturb one another', async () => {
    const [first, second] = [await db.pool.connect(), await db.pool.connect()];
    const named = (text: string) => ({ name: 'same', text, values: [1] });
    const answers = await Promise.all([
      first.query(named('SELECT $1::int AS a')),
      second.query(named('SELECT $1::int + 1 AS b')),
      first.query(named('SELECT $1::int AS a')),
    ]);
    expect(answers.map(({ rows }) => rows)).toEqual([[{ a: 1 }], [{ b: 2 }], [{ a: 1 }]]);
    first.release();
    second.release();
  });
});
