import type { Knex } from 'knex';

/** Tool lists of servers of the Model Context Protocol, each once, and which one a run was given. */
export async function up(knex: Knex): Promise<void> {
  await knex.schema.withSchema('holdfast').createTable('mcp_lists', (table) => {
    table.text('tenant').notNullable().defaultTo('default');
    table.text('digest').notNullable();
    table.text('definitions').notNullable();
    table.timestamp('created_at').notNullable().defaultTo(knex.fn.now());
    table.primary(['tenant', 'digest']);
  });
  await knex.schema.withSchema('holdfast').createTable('mcp_pins', (table) => {
    table.text('run_id').notNullable().references('id').inTable('holdfast.runs').onDelete('CASCADE');
    table.text('server').notNullable();
    table.text('tenant').notNullable().defaultTo('default');
    table.text('digest').notNullable();
    table.integer('segment').notNullable();
    table.timestamp('created_at').notNullable().defaultTo(knex.fn.now());
    table.primary(['run_id', 'server']);
  });
}
