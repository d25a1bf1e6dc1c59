import type { Knex } from 'knex';

/** Runs that begin with a part of another run's log, and calls that were begun there. */
export async function up(knex: Knex): Promise<void> {
  await knex.schema.withSchema('holdfast').alterTable('runs', (table) => {
    table.text('forked_from_run_id').nullable();
    table.integer('forked_from_seq').nullable();
    table.integer('recorded_seq').nullable();
    table.text('model').nullable();
    table.index(['forked_from_run_id']);
  });
  await knex.schema.withSchema('holdfast').alterTable('calls', (table) => {
    table.text('origin_run_id').nullable();
  });
}
