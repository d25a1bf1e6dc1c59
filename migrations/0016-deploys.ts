import type { Knex } from 'knex';

/** Which recordings a worker can go on with, and segments that were made again from the log. */
export async function up(knex: Knex): Promise<void> {
  await knex.schema.withSchema('holdfast').alterTable('workers', (table) => {
    // Builds before this migration have recorded under version 1.
    table.integer('recording_version').notNullable().defaultTo(1);
  });
  await knex.schema.withSchema('holdfast').alterTable('runs', (table) => {
    table.integer('rebuilt_segment').nullable();
  });
}
