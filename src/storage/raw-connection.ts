import type { Knex } from 'knex';
import type { ClientBase } from 'pg';
import { HoldfastError } from '../core/errors.js';

interface Doors {
  readonly acquireConnection?: () => Promise<unknown>;
  readonly releaseConnection?: (connection: unknown) => Promise<void>;
}

/** Works with the driver's own connection: that of an open transaction, or one of the pool. A door to knex's client. */
export async function rawConnection<T>(db: Knex, work: (connection: ClientBase) => Promise<T>): Promise<T> {
  // The connection of one that has ended may be somebody else's by now.
  if (isTransaction(db) && db.isCompleted())
    throw new HoldfastError('internal', 'A statement came after its transaction had ended.');
  const client: Doors = db.client;
  if (typeof client.acquireConnection !== 'function' || typeof client.releaseConnection !== 'function')
    throw new HoldfastError('library_changed', 'knex does not have client.acquireConnection any more.');
  const connection = await client.acquireConnection();
  try {
    if (typeof connection !== 'object' || connection === null || !('query' in connection))
      throw new HoldfastError(
        'library_changed',
        'client.acquireConnection of knex does not give a connection any more.',
      );
    // The stand-in for PGlite has the part of pg's client that is used: `query`.
    return await work(connection as ClientBase);
  } finally {
    if (!isTransaction(db)) await client.releaseConnection(connection);
  }
}

const isTransaction = (db: Knex): db is Knex.Transaction => db.isTransaction === true;
