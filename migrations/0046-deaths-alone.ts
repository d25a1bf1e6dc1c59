import type { Knex } from 'knex';

/** Of the deaths of workers that are counted with a run, those in which it had the worker to itself; and that a worker has begun to leave. */
export async function up(knex: Knex): Promise<void> {
  await knex.schema.withSchema('holdfast').alterTable('crashes', (table) => {
    table.integer('alone').notNullable().defaultTo(0);
  });
  await knex.schema.withSchema('holdfast').alterTable('workers', (table) => {
    table.timestamp('leaving_at');
  });
}
