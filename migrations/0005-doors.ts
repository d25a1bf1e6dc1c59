import type { Knex } from 'knex';

/** What the doors keep: requests that may be repeated, and who did what. */
export async function up(knex: Knex): Promise<void> {
  await knex.schema.withSchema('holdfast').createTable('idempotency_keys', (table) => {
    table.text('tenant').notNullable().defaultTo('default');
    table.text('operation').notNullable();
    table.text('key').notNullable();
    table.text('fingerprint').notNullable();
    table.text('run_id').notNullable().references('id').inTable('holdfast.runs').onDelete('CASCADE');
    table.timestamp('created_at').notNullable().defaultTo(knex.fn.now());
    table.primary(['tenant', 'operation', 'key']);
  });
  await knex.schema.withSchema('holdfast').createTable('access_log', (table) => {
    table.bigIncrements('id');
    table.text('tenant').notNullable().defaultTo('default');
    table.timestamp('at').notNullable().defaultTo(knex.fn.now());
    table.text('actor').notNullable();
    table.text('role').notNullable();
    table.text('method').notNullable();
    table.text('route').notNullable();
    table.text('target').nullable();
    table.integer('status').notNullable();
    table.index(['tenant', 'at']);
  });
}
