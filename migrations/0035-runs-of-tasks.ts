import type { Knex } from 'knex';

/** The task that a run executes. */
export async function up(knex: Knex): Promise<void> {
  await knex.schema.withSchema('holdfast').alterTable('runs', (table) => {
    table.text('task_id').nullable();
  });
  await knex.raw('create index runs_of_tasks on holdfast.runs (task_id, created_at) where task_id is not null');
}
