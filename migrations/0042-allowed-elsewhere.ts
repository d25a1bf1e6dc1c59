import type { Knex } from 'knex';

/** What people decided in a run that a fork was made of: kept in the fork as history, which allows nothing there. */
export async function up(knex: Knex): Promise<void> {
  await knex.schema.withSchema('holdfast').alterTable('interruptions', (table) => {
    table.text('origin_run_id').nullable();
  });
  await knex.schema.withSchema('holdfast').alterTable('calls', (table) => {
    table.text('approved_in').nullable();
  });
}
