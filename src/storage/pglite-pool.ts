import pg from 'pg';
import { PgliteConnection } from './pglite-connection.js';
import type { Door } from './pglite-lease.js';
import type { PgliteSession } from './pglite-session.js';

/** Virtual connections cost nothing: a transaction that waits for the session must not keep others from a connection. */
const CONNECTIONS_MAX = 10_000;

/** A `pg.Pool` whose clients share PGlite's session: no socket, no wire, otherwise pg as it is. */
export function pglitePool(session: PgliteSession, door: Door): pg.Pool {
  const ends = new WeakMap<pg.ClientBase, PgliteConnection>();
  class Client extends pg.Client {
    constructor() {
      const connection = new PgliteConnection(session, door);
      const config = { application_name: 'holdfast', connection };
      super(config);
      ends.set(this, connection);
    }
  }
  const pool = new pg.Pool({ Client, max: CONNECTIONS_MAX, allowExitOnIdle: true });
  pool.on('release', (_error, client) => ends.get(client)?.abandon());
  return pool;
}
