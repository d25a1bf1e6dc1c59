import type { Knex } from 'knex';

/** Conversations that go on over several runs. A run names its session and how many items of its input came from it. */
export async function up(knex: Knex): Promise<void> {
  await knex.schema.withSchema('holdfast').createTable('sessions', (table) => {
    table.text('tenant').notNullable().defaultTo('default');
    table.text('id').notNullable();
    table.text('run_id').nullable().references('id').inTable('holdfast.runs').onDelete('SET NULL');
    table.integer('items').notNullable().defaultTo(0);
    table.bigInteger('bytes').notNullable().defaultTo(0);
    table.timestamp('created_at').notNullable().defaultTo(knex.fn.now());
    table.timestamp('updated_at').notNullable().defaultTo(knex.fn.now());
    table.primary(['tenant', 'id']);
    table.unique(['run_id']);
    table.index(['tenant', 'created_at', 'id']);
  });
  await knex.schema.withSchema('holdfast').createTable('session_items', (table) => {
    table.text('tenant').notNullable().defaultTo('default');
    table.text('session_id').notNullable();
    table.integer('seq').notNullable();
    table.text('run_id').nullable().references('id').inTable('holdfast.runs').onDelete('SET NULL');
    table.text('item').notNullable();
    table.primary(['tenant', 'session_id', 'seq']);
    table
      .foreign(['tenant', 'session_id'])
      .references(['tenant', 'id'])
      .inTable('holdfast.sessions')
      .onDelete('CASCADE');
  });
  await knex.schema.withSchema('holdfast').alterTable('runs', (table) => {
    table.text('session_id').nullable();
    table.integer('history_items').notNullable().defaultTo(0);
  });
}
