import type { Knex } from 'knex';

/** The log of each run, its head (what the next event is chained to), and the erasable key of its payloads. */
export async function up(knex: Knex): Promise<void> {
  await knex.schema.withSchema('holdfast').createTable('events', (table) => {
    table.text('run_id').notNullable().references('id').inTable('holdfast.runs').onDelete('CASCADE');
    table.integer('seq').notNullable();
    table.text('tenant').notNullable().defaultTo('default');
    table.text('key').notNullable();
    table.smallint('v').notNullable();
    table.text('parent_id').nullable();
    table.text('kind').notNullable();
    table.text('at').notNullable();
    table.text('data').nullable();
    table.text('data_hash').notNullable();
    table.integer('state_version').notNullable();
    table.text('state_hash_before').notNullable();
    table.text('state_hash_after').notNullable();
    table.text('prev_hash').notNullable();
    table.text('hash').notNullable();
    table.text('worker').nullable();
    table.primary(['run_id', 'seq']);
    table.unique(['run_id', 'key']);
  });
  await knex.schema.withSchema('holdfast').createTable('run_heads', (table) => {
    table.text('run_id').primary().references('id').inTable('holdfast.runs').onDelete('CASCADE');
    table.text('tenant').notNullable().defaultTo('default');
    table.integer('seq').notNullable();
    table.text('hash').notNullable();
    table.text('state').notNullable();
    table.text('state_hash').notNullable();
    table.text('at').notNullable();
  });
  await knex.schema.withSchema('holdfast').createTable('run_keys', (table) => {
    table.text('run_id').primary().references('id').inTable('holdfast.runs').onDelete('CASCADE');
    table.text('tenant').notNullable().defaultTo('default');
    table.text('key').notNullable();
  });
}
