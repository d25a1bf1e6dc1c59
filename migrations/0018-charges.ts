import type { Knex } from 'knex';

/** What each attempt to get an answer of a model cost. A charge outlives its run: it was paid. */
export async function up(knex: Knex): Promise<void> {
  await knex.schema.withSchema('holdfast').createTable('charges', (table) => {
    table.text('run_id').notNullable();
    table.integer('turn').notNullable();
    table.text('execution').notNullable();
    table.integer('attempt').notNullable();
    table.text('tenant').notNullable().defaultTo('default');
    table.text('agent').notNullable();
    table.text('model').notNullable();
    table.bigInteger('input_tokens').nullable();
    table.bigInteger('cached_input_tokens').nullable();
    table.bigInteger('cache_write_tokens').nullable();
    table.bigInteger('output_tokens').nullable();
    table.bigInteger('reasoning_tokens').nullable();
    table.bigInteger('nano_usd').nullable();
    table.text('price_source').nullable();
    table.text('price_version').nullable();
    table.text('state').notNullable();
    table.text('day').notNullable().defaultTo(knex.raw("to_char(now() at time zone 'UTC', 'YYYY-MM-DD')"));
    table.timestamp('charged_at').notNullable().defaultTo(knex.fn.now());
    table.primary(['run_id', 'turn', 'execution', 'attempt']);
    table.index(['tenant', 'day']);
  });
  await knex.schema.withSchema('holdfast').alterTable('runs', (table) => {
    table.bigInteger('child_cost_nano_usd').nullable().defaultTo(0);
  });
}
