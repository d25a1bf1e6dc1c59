import type { Knex } from 'knex';

/** Narrows rows of a table, by its name in the statement, to those that have what is given; undefined: whatever they have. */
export function whereSame(query: Knex.QueryBuilder, table: string, same: { readonly [column: string]: unknown }): void {
  for (const [column, value] of Object.entries(same))
    if (value !== undefined) query.where({ [`${table}.${column}`]: value });
}
