import type { Knex } from 'knex';

/** A statement that gives rows, and has not been sent. */
export type Rows<Row extends object> = Knex.QueryBuilder<Row, Row[]>;

/**
 * Every column of a table by its name. The plan of a statement with `*` fails for good when a migration adds a column while a
 * connection keeps it; with names it can be kept.
 */
export const columnsOf = <Row extends object>(columns: { readonly [C in keyof Row]-?: true }) => {
  const text = Object.keys(columns)
    .map((column) => `"${column}"`)
    .join(', ');
  return (db: Knex): Knex.Raw => db.raw(text);
};

/** The time of the transaction as DBOS writes it, in milliseconds since 1970. */
export const NOW_MS = '(extract(epoch from now()) * 1000)::bigint';

/** The time by the clock of the database, in milliseconds since 1970. */
export async function databaseTimeMs(db: Knex): Promise<number> {
  const { rows } = await db.raw('select (extract(epoch from clock_timestamp()) * 1000)::float8 as ms');
  return rows[0].ms;
}

/** Narrows rows of a table, by its name in the statement, to those that have what is given; undefined: whatever they have. */
export function whereSame(query: Knex.QueryBuilder, table: string, same: { readonly [column: string]: unknown }): void {
  for (const [column, value] of Object.entries(same))
    if (value !== undefined) query.where({ [`${table}.${column}`]: value });
}
