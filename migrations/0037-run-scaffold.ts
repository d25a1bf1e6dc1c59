import type { Knex } from 'knex';

/** By which scaffold a run works; null: its agent has none. */
export async function up(knex: Knex): Promise<void> {
  await knex.schema.withSchema('holdfast').alterTable('runs', (table) => {
    table.text('scaffold').nullable();
  });
}
