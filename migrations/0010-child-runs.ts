import type { Knex } from 'knex';

/** Runs that a call of another run started: the call, the runs above, and what such runs count on those above them. */
export async function up(knex: Knex): Promise<void> {
  await knex.schema.withSchema('holdfast').alterTable('runs', (table) => {
    table.text('parent_call_id').nullable();
    table.text('ancestors').notNullable().defaultTo('[]');
    table.bigInteger('time_left_ms').nullable();
    table.bigInteger('child_input_tokens').notNullable().defaultTo(0);
    table.bigInteger('child_output_tokens').notNullable().defaultTo(0);
    table.bigInteger('child_total_tokens').notNullable().defaultTo(0);
    table.bigInteger('child_active_ms').notNullable().defaultTo(0);
    table.index(['parent_run_id', 'created_at', 'id']);
  });
}
