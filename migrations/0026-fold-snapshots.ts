import type { Knex } from 'knex';

/** The state that a log folds to at some of its events, so that reading it there need not begin at the first. */
export async function up(knex: Knex): Promise<void> {
  await knex.schema.withSchema('holdfast').createTable('fold_snapshots', (table) => {
    table.text('run_id').notNullable().references('id').inTable('holdfast.runs').onDelete('CASCADE');
    table.integer('seq').notNullable();
    table.text('tenant').notNullable().defaultTo('default');
    table.text('hash').notNullable();
    table.text('state').notNullable();
    table.text('state_hash').notNullable();
    table.primary(['run_id', 'seq']);
  });
}
