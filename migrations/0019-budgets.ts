import type { Knex } from 'knex';

/** How much of each budget is spent or reserved, and what was reserved of which by a model call. */
export async function up(knex: Knex): Promise<void> {
  await knex.schema.withSchema('holdfast').createTable('budgets', (table) => {
    table.text('id').primary();
    table.text('tenant').notNullable().defaultTo('default');
    table.text('scope').notNullable();
    table.text('name').notNullable();
    table.text('day').nullable();
    table.bigInteger('nano_usd').notNullable().defaultTo(0);
    table.bigInteger('limit_nano_usd').nullable();
  });
  await knex.schema.withSchema('holdfast').alterTable('charges', (table) => {
    table.bigInteger('reserved_nano_usd').nullable();
    table.text('budgets').nullable();
  });
}
