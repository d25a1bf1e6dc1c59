import type { Knex } from 'knex';

/** Whether the models of a run answer in pieces; null: as its agent says. */
export async function up(knex: Knex): Promise<void> {
  await knex.schema.withSchema('holdfast').alterTable('runs', (table) => {
    table.boolean('stream');
  });
}
