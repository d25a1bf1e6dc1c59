import { randomBytes } from 'node:crypto';
import { createServer } from 'node:net';
import { afterAll, describe, expect, test } from 'vitest';
import { openDatabase } from '../../../src/storage/database/open-database.js';
import { describePostgres, onServer, testDatabaseUrl } from '../../harness/database.js';

const open = (databaseUrl: string) => openDatabase({ databaseUrl, dataDir: '/nowhere' });
const failure = async (url: string): Promise<unknown> =>
  open(url).then(
    () => 'opened',
    (error: unknown) => error,
  );

describe('A PostgreSQL that is not there', () => {
  test('is named with its host, port and database, and without its password', async () => {
    const server = createServer().listen(0, '127.0.0.1');
    await new Promise((resolve) => server.once('listening', resolve));
    const address = server.address();
    const port = typeof address === 'object' && address !== null ? address.port : 0;
    await new Promise((resolve) => server.close(resolve));
    const error = await failure(`postgresql://ada:s3cret@127.0.0.1:${port}/things`);
    expect(error).toMatchObject({
      code: 'database_unreachable',
      message: expect.stringContaining(`127.0.0.1:${port}/things`),
    });
    expect(JSON.stringify(error) + String(error)).not.toContain('s3cret');
  });

  test('is not looked for when its URL is none', async () => {
    const error = await failure('postgresql://ada:s3cret@host:notaport/things');
    expect(error).toMatchObject({ code: 'config_invalid' });
    expect(JSON.stringify(error) + String(error)).not.toContain('s3cret');
  });
});

describePostgres('Opening', () => {
  const name = `holdfast_test_${randomBytes(6).toString('hex')}`;
  afterAll(() => onServer(`drop database if exists "${name}" with (force)`));

  test('makes a database that is missing, once for all who ask', async () => {
    const opened = await Promise.all([
      open(testDatabaseUrl(name)),
      open(testDatabaseUrl(name)),
      open(testDatabaseUrl(name)),
    ]);
    for (const { pool } of opened) {
      expect((await pool.query('SELECT current_database() AS name')).rows).toEqual([{ name }]);
    }
    await Promise.all(opened.map((db) => db.close()));
  });

  test('compiles no statement: that takes longer than most of them', async () => {
    const db = await open(testDatabaseUrl(name));
    try {
      expect((await db.pool.query('SHOW jit')).rows).toEqual([{ jit: 'off' }]);
      expect((await db.knex.raw('SHOW jit')).rows).toEqual([{ jit: 'off' }]);
    } finally {
      await db.close();
    }
  });

  test('makes one that is missing where the address names its host as a parameter, as those of sockets do', async () => {
    const { hostname, port, username, password } = new URL(testDatabaseUrl(name));
    const other = `${name}_by_parameter`;
    const secret = password === '' ? '' : `&password=${password}`;
    const db = await open(`postgresql://${username}@/${other}?host=${hostname}&port=${port}${secret}`);
    try {
      expect((await db.pool.query('SELECT current_database() AS name')).rows).toEqual([{ name: other }]);
    } finally {
      await db.close();
      await onServer(`drop database if exists "${other}" with (force)`);
    }
  });

  test('says that a database is missing and may not be made', async () => {
    await onServer(`create role "${name}" login`);
    const url = Object.assign(new URL(testDatabaseUrl(`${name}_other`)), { username: name });
    try {
      expect(await failure(url.href)).toMatchObject({
        code: 'database_unreachable',
        message: expect.stringContaining(`${name}_other`),
        hint: expect.stringContaining('createdb'),
      });
    } finally {
      await onServer(`drop role "${name}"`);
    }
  });
});
