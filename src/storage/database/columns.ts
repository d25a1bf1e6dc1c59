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
