import type { Knex } from 'knex';

/** Processes that execute segments. The epoch rises at each start and fences a predecessor that still breathes. */
export async function up(knex: Knex): Promise<void> {
  await knex.schema.withSchema('holdfast').createTable('workers', (table) => {
    table.text('id').primary();
    table.text('tenant').notNullable().defaultTo('default');
    table.integer('epoch').notNullable();
    table.text('build').notNullable();
    table.integer('pid').notNullable();
    table.timestamp('started_at').notNullable().defaultTo(knex.fn.now());
    table.timestamp('heartbeat_at').notNullable().defaultTo(knex.fn.now());
    table.timestamp('stopped_at').nullable();
  });
}
