import type { Knex } from 'knex';

/** How much of an export is in its store by now. */
export async function up(knex: Knex): Promise<void> {
  await knex.schema.withSchema('holdfast').alterTable('exports', (table) => {
    table.text('sending').nullable();
  });
}
