import type { Knex } from 'knex';

/** What verifiers and people say of runs. Each version is bound to the one before and to the head of the run's log. */
export async function up(knex: Knex): Promise<void> {
  await knex.schema.withSchema('holdfast').createTable('rewards', (table) => {
    table.text('run_id').notNullable().references('id').inTable('holdfast.runs').onDelete('CASCADE');
    table.integer('version').notNullable();
    table.text('tenant').notNullable().defaultTo('default');
    table.text('data').nullable();
    table.text('data_hash').notNullable();
    table.text('actor').notNullable();
    table.text('at').notNullable();
    table.integer('head_seq').notNullable();
    table.text('head_hash').notNullable();
    table.text('prev_hash').nullable();
    table.text('hash').notNullable();
    table.primary(['run_id', 'version']);
  });
}
