import type { Knex } from 'knex';

/** What environments are for, and whose files they begin with: those of before are where commands of runs execute. */
export async function up(knex: Knex): Promise<void> {
  await knex.schema.withSchema('holdfast').alterTable('environments', (table) => {
    table.text('purpose').notNullable().defaultTo('run');
    table.text('source_run').nullable();
    table.text('source_purpose').nullable();
    table.integer('source_attempt').nullable();
    table.dropPrimary();
    table.primary(['run_id', 'purpose', 'attempt']);
  });
}
