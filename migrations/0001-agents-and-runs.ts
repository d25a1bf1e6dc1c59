import type { Knex } from 'knex';

/** Agents as they were when a run used them, and the runs. `text` columns of JSON hold canonical bytes (RFC 8785). */
export async function up(knex: Knex): Promise<void> {
  await knex.schema.withSchema('holdfast').createTable('agents', (table) => {
    table.text('tenant').notNullable().defaultTo('default');
    table.text('name').notNullable();
    table.text('definition_hash').notNullable();
    table.text('version').notNullable();
    table.text('definition').notNullable();
    table.timestamp('created_at').notNullable().defaultTo(knex.fn.now());
    table.primary(['tenant', 'name', 'definition_hash']);
  });
  await knex.schema.withSchema('holdfast').createTable('runs', (table) => {
    table.text('id').primary();
    table.text('tenant').notNullable().defaultTo('default');
    table.text('parent_run_id').nullable();
    table.text('agent').notNullable();
    table.text('agent_version').notNullable();
    table.text('agent_hash').notNullable();
    table.text('status').notNullable();
    table.integer('priority').notNullable();
    table.text('input').notNullable();
    table.text('grants').notNullable();
    table.text('limits').notNullable();
    table.text('metadata').notNullable();
    table.text('output').nullable();
    table.text('error').nullable();
    table.integer('segment').notNullable().defaultTo(0);
    table.integer('turns').notNullable().defaultTo(0);
    table.bigInteger('input_tokens').notNullable().defaultTo(0);
    table.bigInteger('output_tokens').notNullable().defaultTo(0);
    table.bigInteger('total_tokens').notNullable().defaultTo(0);
    table.bigInteger('cost_nano_usd').nullable();
    table.bigInteger('active_ms').notNullable().defaultTo(0);
    table.timestamp('segment_started_at').nullable();
    table.timestamp('cancel_requested_at').nullable();
    table.text('cancel_reason').nullable();
    table.timestamp('created_at').notNullable().defaultTo(knex.fn.now());
    table.timestamp('updated_at').notNullable().defaultTo(knex.fn.now());
    table.timestamp('completed_at').nullable();
    table.index(['tenant', 'created_at', 'id']);
    table.index(['tenant', 'status', 'created_at', 'id']);
  });
}
