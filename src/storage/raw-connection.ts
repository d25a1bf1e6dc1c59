import type { Knex } from 'knex';
import type { ClientBase } from 'pg';
import { HoldfastError } from '../core/errors.js';

/** The driver's own connection of an open transaction, for a library that joins it. A door to knex's client. */
export async function rawConnection(trx: Knex.Transaction): Promise<ClientBase> {
  const client: { acquireConnection?: () => Promise<unknown> } = trx.client;
  if (typeof client.acquireConnection !== 'function') {
    throw new HoldfastError('library_changed', 'knex transactions do not have client.acquireConnection any more.');
  }
  const connection: unknown = await client.acquireConnection();
  if (typeof connection !== 'object' || connection === null || !('query' in connection)) {
    throw new HoldfastError('library_changed', 'client.acquireConnection of knex does not give a connection any more.');
  }
  // The stand-in for PGlite has the part of pg's client that DBOS uses: `query`.
  return connection as ClientBase;
}
