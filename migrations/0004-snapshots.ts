import type { Knex } from 'knex';

/** Serialised states of the Agents SDK: a cache of what the log says, one per segment, and those that users save by name. */
export async function up(knex: Knex): Promise<void> {
  await knex.schema.withSchema('holdfast').createTable('snapshots', (table) => {
    table.text('run_id').notNullable().references('id').inTable('holdfast.runs').onDelete('CASCADE');
    table.integer('segment').notNullable();
    table.text('tenant').notNullable().defaultTo('default');
    table.text('sdk').notNullable();
    table.text('digest').notNullable();
    table.text('state').notNullable();
    table.timestamp('created_at').notNullable().defaultTo(knex.fn.now());
    table.primary(['run_id', 'segment']);
  });
  await knex.schema.withSchema('holdfast').createTable('saved_states', (table) => {
    table.text('tenant').notNullable().defaultTo('default');
    table.text('name').notNullable();
    table.text('envelope').notNullable();
    table.timestamp('saved_at').notNullable().defaultTo(knex.fn.now());
    table.primary(['tenant', 'name']);
  });
}
