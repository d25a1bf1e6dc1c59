import type { Knex } from 'knex';
import type { ClientBase } from 'pg';
import { HoldfastError } from '../../core/errors/errors.js';
import { databaseTrouble } from './database-trouble.js';

interface KnexClient {
  readonly acquireConnection?: () => Promise<unknown>;
  readonly releaseConnection?: (connection: unknown) => Promise<void>;
}

/**
 * Works with the driver's own connection: that of an open transaction, or one of the pool. Uses a private part of knex's client. In a transaction,
 * the first trouble of the database is what is thrown, and nothing is asked again after it.
 */
export async function rawConnection<T>(db: Knex, work: (connection: ClientBase) => Promise<T>): Promise<T> {
  // The connection of one that has ended may be someone else's by now.
  if (isTransaction(db) && db.isCompleted())
    throw new HoldfastError('internal', 'A statement came after its transaction had ended.');
  const client: KnexClient = db.client;
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
    const given = connection as ClientBase;
    return await (isTransaction(db) ? untilTrouble(given, work) : work(given));
  } finally {
    if (!isTransaction(db)) await client.releaseConnection(connection);
  }
}

/**
 * Hears of every statement that fails, and of every connection that a statement could not have: knex tells the first alone. Uses a private
 * part of knex's client.
 */
export function hearFailures(db: Knex, hear: (error: unknown) => void): void {
  db.on('query-error', hear);
  const client: { acquireConnection?: (...args: unknown[]) => Promise<unknown> } = db.client;
  const acquire = client.acquireConnection;
  if (typeof acquire !== 'function')
    throw new HoldfastError('library_changed', 'knex does not have client.acquireConnection any more.');
  client.acquireConnection = async function (...args) {
    try {
      return await acquire.apply(this, args);
    } catch (error) {
      hear(error);
      throw error;
    }
  };
}

const isTransaction = (db: Knex): db is Knex.Transaction => db.isTransaction === true;

/**
 * A library that asks again after trouble with the database would ask in a transaction that has failed, and hear that alone, or a
 * connection that is gone, forever. What it hears of such trouble here is nothing that it knows.
 */
async function untilTrouble<T>(connection: ClientBase, work: (connection: ClientBase) => Promise<T>): Promise<T> {
  const troubles: unknown[] = [];
  const query = async (text: string, values?: unknown[]): Promise<unknown> => {
    try {
      if (troubles.length === 0) return await connection.query(text, values);
    } catch (error) {
      if (databaseTrouble(error) === null) throw error;
      troubles.push(error);
    }
    throw new Error('the transaction is over');
  };
  try {
    // The part of pg's client that is used.
    return await work({ query } as unknown as ClientBase);
  } catch (error) {
    throw troubles.length === 0 ? error : troubles[0];
  }
}

type Statement = Pick<Knex.QueryBuilder, 'toSQL'>;
type RowsOf<Rows extends readonly object[]> = { -readonly [I in keyof Rows]: Rows[I][] };

/**
 * Sends statements together, and gives the rows of each. They are executed in their order on one connection: one that comes
 * after a lock reads what those who held it before have committed. knex promises no order of statements that no one waits for.
 */
export async function inOneFlight<Rows extends readonly object[]>(
  db: Knex,
  statements: { readonly [I in keyof Rows]: Statement },
): Promise<RowsOf<Rows>> {
  return rawConnection(db, async (connection) => {
    const answers = await Promise.all(statements.map((statement) => sent(connection, statement)));
    // The caller says what rows its statements give.
    return answers as RowsOf<Rows>;
  });
}

async function sent(connection: ClientBase, statement: Statement): Promise<object[]> {
  const { sql, bindings } = statement.toSQL().toNative();
  const { rows } = await connection.query<object>(sql, [...bindings]);
  return rows;
}

/**
 * Waits for all of several works in one transaction: the statements that they send at the same time travel together. Throws what
 * failed first, and not what failed because nothing goes on in a transaction after that.
 */
export async function sideBySide(works: readonly Promise<void>[]): Promise<void> {
  const failed: unknown[] = [];
  await Promise.all(works.map((work) => work.catch((error: unknown) => failed.push(error))));
  if (failed.length > 0) throw failed.find((error) => !isAborted(error)) ?? failed[0];
}

const isAborted = (error: unknown): boolean => error instanceof Error && 'code' in error && error.code === '25P02';

/** Notifies the listeners of a channel, once per payload and in order. A payload has less than 8,000 bytes. */
export async function notify(db: Knex, channel: string, payloads: readonly string[]): Promise<void> {
  // Equal payloads of one transaction arrive once; none of ours are equal.
  await db.raw('select pg_notify(?, payload) from unnest(?::text[]) with ordinality as p(payload, n) order by n', [
    channel,
    [...payloads],
  ]);
}

/** Reads in a transaction that cannot write and sees one moment: what others commit meanwhile none of its statements sees. */
export const atOneMoment = <T>(db: Knex, read: (trx: Knex.Transaction) => Promise<T>): Promise<T> =>
  db.transaction(read, { readOnly: true, isolationLevel: 'repeatable read' });
