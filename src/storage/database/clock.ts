import type { Knex } from 'knex';

/** The time of the transaction as DBOS writes it, in milliseconds since 1970. */
export const NOW_MS = '(extract(epoch from now()) * 1000)::bigint';

/** The time by the clock of the database, in milliseconds since 1970. */
export async function databaseTimeMs(db: Knex): Promise<number> {
  const { rows } = await db.raw('select (extract(epoch from clock_timestamp()) * 1000)::float8 as ms');
  return rows[0].ms;
}
