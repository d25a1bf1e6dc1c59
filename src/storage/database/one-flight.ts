import type { Knex } from 'knex';
import type { ClientBase } from 'pg';
import { rawConnection } from './raw-connection.js';

type Statement = Pick<Knex.QueryBuilder, 'toSQL'>;
type RowsOf<Rows extends readonly object[]> = { -readonly [I in keyof Rows]: Rows[I][] };

/**
 * Sends statements together, and gives the rows of each. They are executed in their order on one connection: one that comes
 * after a lock reads what those who held it before have committed. knex promises no order of statements that nobody waits for.
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
