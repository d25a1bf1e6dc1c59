import type { Knex } from 'knex';

/** Edited arguments, several approvers, and decisions that hold for later calls of a run. */
export async function up(knex: Knex): Promise<void> {
  await knex.schema.withSchema('holdfast').alterTable('interruptions', (table) => {
    table.text('tool_version').notNullable().defaultTo('');
    table.text('capabilities').notNullable().defaultTo('[]');
  });
  await knex.schema.withSchema('holdfast').alterTable('decisions', (table) => {
    table.integer('vote').notNullable().defaultTo(1);
    table.text('edit').nullable();
    table.text('always').nullable();
    // Who approved may reject, or cancel the run, while others are still to approve.
    table.dropUnique(['interruption_id', 'actor']);
    table.unique(['interruption_id', 'actor', 'verdict']);
  });
  await knex.schema.withSchema('holdfast').createTable('standing_decisions', (table) => {
    table.text('id').primary();
    table.text('run_id').notNullable().references('id').inTable('holdfast.runs').onDelete('CASCADE');
    table.text('tenant').notNullable().defaultTo('default');
    table.text('interruption_id').notNullable();
    table.text('agent').notNullable();
    table.text('tool').notNullable();
    table.text('tool_version').notNullable();
    table.text('scope').notNullable();
    table.boolean('exact').notNullable();
    table.text('actor').notNullable();
    table.timestamp('made_at').notNullable().defaultTo(knex.fn.now());
    table.timestamp('revoked_at').nullable();
    table.text('revoked_by').nullable();
    table.index(['run_id', 'made_at', 'id']);
  });
}
