import type { Knex } from 'knex';

/** Exports of trajectories: what was asked for, the runs that each looks at, and what it has written by now. */
export async function up(knex: Knex): Promise<void> {
  await knex.schema.withSchema('holdfast').createTable('exports', (table) => {
    table.text('id').primary();
    table.text('tenant').notNullable().defaultTo('default');
    table.text('status').notNullable();
    table.text('request').notNullable();
    table.text('actor').notNullable();
    table.text('folder').notNullable();
    table.integer('runs').nullable();
    table.integer('done').notNullable().defaultTo(0);
    table.integer('rows').notNullable().defaultTo(0);
    table.text('skipped').notNullable().defaultTo('{}');
    table.text('files').notNullable().defaultTo('[]');
    table.text('error').nullable();
    table.timestamp('cancel_requested_at').nullable();
    table.timestamp('created_at').notNullable().defaultTo(knex.fn.now());
    table.timestamp('updated_at').notNullable().defaultTo(knex.fn.now());
    table.timestamp('completed_at').nullable();
    table.index(['tenant', 'created_at', 'id']);
  });
  await knex.schema.withSchema('holdfast').createTable('export_runs', (table) => {
    table.text('tenant').notNullable().defaultTo('default');
    table.text('export_id').notNullable().references('id').inTable('holdfast.exports').onDelete('CASCADE');
    table.integer('position').notNullable();
    table.text('run_id').notNullable();
    table.text('task').notNullable();
    table.primary(['export_id', 'position']);
  });
  await knex.schema.withSchema('holdfast').createTable('export_digests', (table) => {
    table.text('tenant').notNullable().defaultTo('default');
    table.text('export_id').notNullable().references('id').inTable('holdfast.exports').onDelete('CASCADE');
    table.text('digest').notNullable();
    table.integer('part').notNullable();
    table.primary(['export_id', 'digest']);
  });
}
