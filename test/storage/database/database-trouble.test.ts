import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import pg from 'pg';
import { expect, it } from 'vitest';
import { databaseTrouble } from '../../../src/storage/database/database-trouble.js';

const errorOf = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => expect.unreachable(),
    (error: unknown) => error,
  );

it('a connection that was closed, that no one takes, or that breaks off is a database that is away', async () => {
  const closed = new pg.Client();
  await closed.end();
  expect(databaseTrouble(await errorOf(closed.query('select 1')))).toBe('away');

  const server = createServer((socket) => void socket.once('data', () => socket.destroy())).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  expect(databaseTrouble(await errorOf(new pg.Client({ host: '127.0.0.1', port }).connect()))).toBe('away');
  server.close();
  await once(server, 'close');
  expect(databaseTrouble(await errorOf(new pg.Client({ host: '127.0.0.1', port }).connect()))).toBe('away');

  const silent = createServer(() => undefined).listen(0, '127.0.0.1');
  await once(silent, 'listening');
  const { port: at } = silent.address() as { port: number };
  const slow = new pg.Client({ host: '127.0.0.1', port: at, connectionTimeoutMillis: 50 });
  expect(databaseTrouble(await errorOf(slow.connect()))).toBe('away');
  silent.close();

  const socket = connect({ host: '127.0.0.1', port });
  await once(socket, 'error');
  const written = new Promise((resolve) => void socket.write('x', resolve));
  expect(databaseTrouble(await written)).toBe('away');
});

it.each([
  ['57P01', 'away'],
  ['57P02', 'away'],
  ['57P03', 'away'],
  ['08006', 'away'],
  ['53300', 'away'],
  ['28P01', 'away'],
  ['28000', 'away'],
  ['3D000', 'away'],
  ['53100', 'full'],
  ['53200', 'full'],
  ['25006', 'read_only'],
  ['40001', 'conflict'],
  ['40P01', 'conflict'],
  ['25P02', 'conflict'],
  ['23505', null],
  ['57014', null],
])('what PostgreSQL calls %s is %s', (code, trouble) => {
  expect(databaseTrouble(Object.assign(new Error('said by PostgreSQL'), { code }))).toBe(trouble);
});
