import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Database } from '../../src/storage/database/database.js';
import { openDatabase } from '../../src/storage/database/open-database.js';
import { createTestDatabase, describeEachDatabase, describePostgres, type TestDatabase } from '../harness/database.js';
import { SLOW } from '../harness/slow.js';

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

describeEachDatabase('Notifications and locks', (kind) => {
  let place: TestDatabase;
  let db: Database;

  beforeAll(async () => {
    place = await createTestDatabase(kind);
    db = await openDatabase(place.options);
  });
  afterAll(async () => {
    await db.close();
    await place.drop();
  });

  const listening = async (channel: string) => {
    const heard: string[] = [];
    const stop = await db.listen(channel, (payload) => heard.push(payload));
    return { heard, stop };
  };
  const notify = (channel: string, payload: string) => db.knex.raw('SELECT pg_notify(?, ?)', [channel, payload]);

  test('hears what is notified, each listener its own channel', async () => {
    const one = await listening('one');
    const other = await listening('Other "channel"');
    const same = await listening('one');
    await notify('one', 'a');
    await notify('Other "channel"', 'b');
    await notify('nobody', 'c');
    await db.pool.query("NOTIFY one, 'd'");
    await expect.poll(() => [one.heard, other.heard, same.heard]).toEqual([['a', 'd'], ['b'], ['a', 'd']]);
    await one.stop();
    await one.stop();
    await notify('one', 'e');
    await expect.poll(() => same.heard).toEqual(['a', 'd', 'e']);
    expect(one.heard).toEqual(['a', 'd']);
    await Promise.all([other.stop(), same.stop()]);
  });

  test('hears of a transaction when it is committed, and never of one that is not', async () => {
    const { heard, stop } = await listening('things');
    await db.knex.transaction(async (trx) => {
      await trx.raw("SELECT pg_notify('things', 'committed')");
      await pause(50);
      expect(heard).toEqual([]);
    });
    await db.knex
      .transaction(async (trx) => {
        await trx.raw("SELECT pg_notify('things', 'rolled back')");
        throw new Error('no');
      })
      .catch(() => {});
    await notify('things', 'last');
    await expect.poll(() => heard).toEqual(['committed', 'last']);
    await stop();
  });

  test('lets a listener use the database', async () => {
    const answers: unknown[] = [];
    const stop = await db.listen('ask', (payload) => {
      void db.knex.transaction(async (trx) => {
        answers.push((await trx.raw('SELECT ?::int AS n', [payload])).rows);
      });
    });
    await db.knex.transaction(async (trx) => {
      await trx.raw("SELECT pg_notify('ask', '1')");
    });
    await db.pool.query("SELECT pg_notify('ask', '2')");
    await expect.poll(() => answers).toEqual([[{ n: 1 }], [{ n: 2 }]]);
    await stop();
  });

  test('locks a name once', async () => {
    const lock = await db.tryLock('worker:a');
    expect(lock?.name).toBe('worker:a');
    expect(await db.tryLock('worker:a')).toBeNull();
    const other = await db.tryLock('worker:b');
    expect(other).not.toBeNull();
    await lock?.release();
    const again = await db.tryLock('worker:a');
    expect(again).not.toBeNull();
    // A late second release must not free the lock of someone else.
    await lock?.release();
    expect(await db.tryLock('worker:a')).toBeNull();
    await Promise.all([again?.release(), other?.release()]);
  });

  test.runIf(SLOW)('closes although someone listens, holds a lock and did not give a client back', async () => {
    const own = await createTestDatabase(kind);
    const second = await openDatabase(own.options);
    await second.listen('a', () => {});
    await second.tryLock('a');
    const kept = await second.pool.connect();
    await Promise.all([second.close(), second.close()]);
    await expect(second.pool.query('SELECT 1')).rejects.toThrow();
    if (kind === 'pglite') await expect(kept.query('SELECT 1')).rejects.toMatchObject({ code: 'internal' });
    const third = await openDatabase(own.options);
    expect(await third.tryLock('a')).not.toBeNull();
    await third.close();
    await own.drop();
  });
});

describePostgres('Broken connections', () => {
  let place: TestDatabase;
  let db: Database;
  let other: Database;

  beforeAll(async () => {
    place = await createTestDatabase('postgres');
    db = await openDatabase(place.options);
    other = await openDatabase(place.options);
  });
  afterAll(async () => {
    await db.close();
    await other.close();
    await place.drop();
  });

  /** As a restart of the server does. */
  const breakAll = () =>
    other.knex.raw(
      'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()',
    );

  test('a lock is another session’s until that one lets go', async () => {
    const lock = await db.tryLock('a');
    expect(await other.tryLock('a')).toBeNull();
    await lock?.release();
    const taken = await other.tryLock('a');
    expect(taken).not.toBeNull();
    await taken?.release();
  });

  test('a lost lock is told, once, and is free for others', async () => {
    const lock = await db.tryLock('b');
    const told: string[] = [];
    lock?.onLost(() => told.push('before'));
    await breakAll();
    await expect.poll(() => told).toEqual(['before']);
    lock?.onLost(() => told.push('after'));
    expect(told).toEqual(['before', 'after']);
    const taken = await other.tryLock('b');
    expect(taken).not.toBeNull();
    await lock?.release();
    expect(await db.tryLock('b')).toBeNull();
    await taken?.release();
  });

  test('a lock that is released was not lost', async () => {
    const lock = await db.tryLock('c');
    const told: string[] = [];
    lock?.onLost(() => told.push('lost'));
    await lock?.release();
    await pause(100);
    expect(told).toEqual([]);
  });

  test('a listener goes on after its connection broke', async () => {
    const heard: string[] = [];
    const stop = await db.listen('news', (payload) => heard.push(payload));
    await breakAll();
    await expect
      .poll(async () => {
        await other.pool.query("NOTIFY news, 'again'");
        return heard.length;
      })
      .toBeGreaterThan(0);
    await stop();
  });

  test('statements go on after their connections broke', async () => {
    await Promise.all([db.knex.raw('SELECT 1'), db.pool.query('SELECT 1')]);
    await breakAll();
    await pause(100);
    expect((await db.knex.raw('SELECT 1 AS one')).rows).toEqual([{ one: 1 }]);
    expect((await db.pool.query('SELECT 1 AS one')).rows).toEqual([{ one: 1 }]);
  });

  test('a running statement fails and nothing else does', async () => {
    const running = expect(db.knex.raw('SELECT pg_sleep(20)')).rejects.toThrow();
    const inPool = expect(db.pool.query('SELECT pg_sleep(20)')).rejects.toThrow();
    await pause(200);
    await breakAll();
    await Promise.all([running, inPool]);
  });
});
