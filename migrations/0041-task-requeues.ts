import type { Knex } from 'knex';

/** How often a task was put back by a person, and how many attempts it had had when that was done last. Those that could be are listed. */
export async function up(knex: Knex): Promise<void> {
  await knex.schema.withSchema('holdfast').alterTable('tasks', (table) => {
    table.integer('requeues').notNullable().defaultTo(0);
    table.integer('attempts_before').notNullable().defaultTo(0);
  });
  await knex.raw(
    `create index dead_tasks on holdfast.tasks (tenant, created_at, id) where status = 'failed' and result_type = 'error'`,
  );
}
