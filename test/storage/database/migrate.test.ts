import type { Knex } from 'knex';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { MIGRATIONS, type Migration } from '../../../migrations/index.js';
import { openExisting } from '../../../src/storage/database/data-dir/existing-database.js';
import type { Database } from '../../../src/storage/database/database.js';
import { migrate, schemaState } from '../../../src/storage/database/migrate.js';
import { openDatabase } from '../../../src/storage/database/open-database.js';
import { createTestDatabase, describeEachDatabase, type TestDatabase } from '../../harness/database.js';

const NAMES = MIGRATIONS.map(({ name }) => name);
const migration = (name: string, sql: string): Migration => ({
  name,
  up: async (knex: Knex) => {
    await knex.raw(sql);
  },
});

describeEachDatabase('Migrating', (kind) => {
  let place: TestDatabase;
  let db: Database;

  beforeAll(async () => {
    place = await createTestDatabase(kind);
    db = await openDatabase(place.options);
  });
  beforeEach(async () => {
    await db.pool.query('DROP SCHEMA IF EXISTS holdfast CASCADE');
  });
  afterAll(async () => {
    await db.close();
    await place.drop();
  });

  const schemas = async (): Promise<string[]> =>
    (await db.pool.query("SELECT nspname FROM pg_namespace WHERE nspname = 'holdfast'")).rows.map(
      ({ nspname }) => nspname,
    );

  test('brings an empty database up to date, and leaves one that is', async () => {
    expect(await schemaState(db.knex)).toEqual({ current: [], pending: NAMES, newer: [] });
    expect(await schemas()).toEqual([]);
    expect(await migrate(db.knex)).toEqual({ applied: NAMES });
    expect(await migrate(db.knex)).toEqual({ applied: [] });
    expect(await schemaState(db.knex)).toEqual({ current: NAMES, pending: [], newer: [] });
    await db.knex('holdfast.runs').select();
  });

  test('gives an empty database the rows that the engine works with', async () => {
    await migrate(db.knex);
    expect(await db.knex('holdfast.chores').orderBy('name').pluck('name')).toEqual([
      'compact',
      'pack',
      'retention',
      'system_events',
    ]);
    expect(await db.knex('holdfast.instance').select()).toHaveLength(1);
    expect(await db.knex('holdfast.system_event_head').select()).toHaveLength(1);
  });

  test('a database that lacks migrations is refused by a reader that migrates nothing', async () => {
    const own = await createTestDatabase(kind);
    try {
      expect(await openExisting(own.options)).toBe(null);
      const opened = await openDatabase(own.options);
      await migrate(opened.knex);
      await opened.close();
      const later = [...MIGRATIONS, migration('9999-later', 'SELECT 1')];
      await expect(openExisting(own.options, later)).rejects.toMatchObject({
        code: 'database_older',
        message: expect.stringContaining('9999-later'),
      });
      await (await openExisting(own.options))?.close();
    } finally {
      await own.drop();
    }
  });

  test('applies only what is missing', async () => {
    const first = migration('0001-first', 'CREATE TABLE holdfast.first (id int)');
    const second = migration('0002-second', 'CREATE TABLE holdfast.second (id int)');
    expect(await migrate(db.knex, [first])).toEqual({ applied: ['0001-first'] });
    expect(await schemaState(db.knex, [first, second])).toMatchObject({ pending: ['0002-second'] });
    expect(await migrate(db.knex, [first, second])).toEqual({ applied: ['0002-second'] });
  });

  test('changes nothing in a newer database', async () => {
    const newer = migration('9999-of-the-future', 'CREATE TABLE holdfast.future (id int)');
    await migrate(db.knex, [...MIGRATIONS.slice(0, 1), newer]);
    await expect(migrate(db.knex)).rejects.toMatchObject({
      code: 'database_newer',
      message: expect.stringContaining('9999-of-the-future'),
    });
    expect(await schemaState(db.knex)).toEqual({
      current: NAMES.slice(0, 1),
      pending: NAMES.slice(1),
      newer: ['9999-of-the-future'],
    });
  });

  test('is all or nothing, and can be done again after a failure', async () => {
    const broken = migration('0002-broken', 'CREATE TABLE holdfast.half (id int); SELECT nothing');
    const first = migration('0001-first', 'CREATE TABLE holdfast.first (id int)');
    await expect(migrate(db.knex, [first, broken])).rejects.toMatchObject({ code: '42703' });
    expect(await schemas()).toEqual([]);
    const mended = migration('0002-broken', 'CREATE TABLE holdfast.half (id int)');
    expect(await migrate(db.knex, [first, mended])).toEqual({ applied: ['0001-first', '0002-broken'] });
  });

  test('is done once by those who begin together', async () => {
    const others = kind === 'postgres' ? [await openDatabase(place.options), await openDatabase(place.options)] : [];
    const all = await Promise.all([db, db, ...others].map(({ knex }) => migrate(knex)));
    expect(all.flatMap(({ applied }) => applied)).toEqual(NAMES);
    await Promise.all(others.map((other) => other.close()));
  });
});
