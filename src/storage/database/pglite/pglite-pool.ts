import pg from 'pg';
import { PgliteConnection } from './pglite-connection.js';
import type { Door } from './pglite-lease.js';
import type { PgliteSession } from './pglite-session.js';

/** Virtual connections cost nothing: a transaction that waits for the session must not keep others from a connection. */
const CONNECTIONS_MAX = 10_000;

type Connected = (error: Error | undefined, client: pg.PoolClient | undefined, done: () => void) => void;

/** A `pg.Pool` whose clients share PGlite's session: no socket, no wire, otherwise pg as it is. */
export class PglitePool extends pg.Pool {
  constructor(session: PgliteSession, door: Door) {
    const connections = new WeakMap<pg.ClientBase, PgliteConnection>();
    class Client extends pg.Client {
      constructor() {
        const connection = new PgliteConnection(session, door);
        // What is sent before an answer waits in the connection: pg will not keep it in the client any more.
        const config = { application_name: 'holdfast', connection, pipeline: true };
        super(config);
        connections.set(this, connection);
      }
    }
    super({ Client, max: CONNECTIONS_MAX, allowExitOnIdle: true });
    this.on('release', (_error, client) => connections.get(client)?.abandon());
  }

  override connect(): Promise<pg.PoolClient>;
  override connect(callback: Connected): void;
  // `pool.query` goes this way too. pg calls back in the async context of whoever set a client free; the promise keeps
  // that of the caller, which says where its statement stands.
  override connect(callback?: Connected): Promise<pg.PoolClient> | undefined {
    const connected = super.connect();
    if (callback === undefined) return connected;
    connected.then(
      (client) => callback(undefined, client, () => client.release()),
      (error: Error) => callback(error, undefined, () => {}),
    );
    return undefined;
  }
}
