import type { Knex } from 'knex';

/** On which terms a task is tried again, and when the next attempt is due. Tasks from before are not. */
export async function up(knex: Knex): Promise<void> {
  await knex.schema.withSchema('holdfast').alterTable('tasks', (table) => {
    table.text('retries').notNullable().defaultTo('{"firstMs":5000,"longestMs":300000,"most":0}');
    table.timestamp('retry_at').nullable();
  });
  await knex.raw('create index tasks_to_retry on holdfast.tasks (retry_at) where retry_at is not null');
}
