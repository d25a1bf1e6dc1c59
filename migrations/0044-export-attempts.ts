import type { Knex } from 'knex';

/** Which piece of an export is at work, and how often a process has died with it. */
export async function up(knex: Knex): Promise<void> {
  await knex.schema.withSchema('holdfast').alterTable('exports', (table) => {
    table.text('attempt').nullable();
    table.text('attempt_by').nullable();
    table.integer('attempt_deaths').notNullable().defaultTo(0);
  });
}
