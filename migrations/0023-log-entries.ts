import type { Knex } from 'knex';

/** The log over all runs: its entries with the tree over them, its checkpoints, and which runs have moved since their last entry. */
export async function up(knex: Knex): Promise<void> {
  await knex.schema.withSchema('holdfast').createTable('log_entries', (table) => {
    table.bigInteger('index').primary();
    table.text('tenant').notNullable().defaultTo('default');
    table.text('run_id').notNullable();
    table.integer('seq').notNullable();
    table.text('hash').notNullable();
    table.text('state_hash').notNullable();
    table.boolean('complete').notNullable();
    table.text('previous').nullable();
    table.text('hashes').notNullable();
    table.timestamp('at', { useTz: true }).notNullable().defaultTo(knex.fn.now());
    table.unique(['run_id', 'seq']);
  });
  await knex.schema.withSchema('holdfast').createTable('log_checkpoints', (table) => {
    table.bigInteger('size').primary();
    table.text('tenant').notNullable().defaultTo('default');
    table.text('root').notNullable();
    table.text('note').notNullable();
    table.timestamp('at', { useTz: true }).notNullable().defaultTo(knex.fn.now());
  });
  // An update that leaves `moved` as it is touches no index.
  const predicate = knex.whereRaw('moved');
  await knex.schema.withSchema('holdfast').alterTable('run_heads', (table) => {
    table.boolean('moved').notNullable().defaultTo(true);
    table.index(['run_id'], 'run_heads_moved_index', { predicate });
  });
}
