import type { Knex } from 'knex';

/** Limits of what is at work at once and begun in a time, and the beginnings that such a limit counts. */
export async function up(knex: Knex): Promise<void> {
  await knex.schema.withSchema('holdfast').createTable('dispatch_limits', (table) => {
    table.text('tenant').notNullable().defaultTo('default');
    table.text('kind').notNullable();
    table.text('name').notNullable();
    table.integer('concurrency').nullable();
    table.integer('rate_runs').nullable();
    table.integer('rate_per_ms').nullable();
    table.primary(['kind', 'name']);
  });
  await knex.schema.withSchema('holdfast').createTable('dispatch_starts', (table) => {
    table.text('run_id').primary();
    table.text('tenant').notNullable().defaultTo('default');
    table.text('agent').notNullable();
    table.timestamp('started_at').notNullable();
    table.timestamp('expires_at').notNullable();
    table.index(['agent', 'started_at']);
    table.index(['tenant', 'started_at']);
    table.index(['expires_at']);
  });
}
