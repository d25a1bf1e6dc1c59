import type { Knex } from 'knex';

/** Intent and outcome of each tool call, what a run waits for, and who settled it. */
export async function up(knex: Knex): Promise<void> {
  await knex.schema.withSchema('holdfast').createTable('calls', (table) => {
    table.text('run_id').notNullable().references('id').inTable('holdfast.runs').onDelete('CASCADE');
    table.text('call_id').notNullable();
    table.text('tenant').notNullable().defaultTo('default');
    table.text('tool').notNullable();
    table.text('tool_version').notNullable();
    table.text('effect').notNullable();
    table.text('digest').notNullable();
    table.text('execution').notNullable();
    table.text('worker').notNullable();
    table.integer('epoch').notNullable();
    table.text('outcome').nullable();
    table.timestamp('started_at').notNullable().defaultTo(knex.fn.now());
    table.timestamp('finished_at').nullable();
    table.primary(['run_id', 'call_id']);
  });
  await knex.schema.withSchema('holdfast').createTable('interruptions', (table) => {
    table.text('id').primary();
    table.text('run_id').notNullable().references('id').inTable('holdfast.runs').onDelete('CASCADE');
    table.text('tenant').notNullable().defaultTo('default');
    table.text('agent').notNullable();
    table.integer('segment').notNullable();
    table.text('kind').notNullable();
    table.text('status').notNullable();
    table.text('call_id').nullable();
    table.text('tool').nullable();
    table.text('arguments').notNullable();
    table.text('reason').notNullable();
    table.text('reason_text').notNullable();
    table.text('verdicts').notNullable();
    table.text('digest').notNullable();
    table.integer('required_approvals').notNullable().defaultTo(1);
    table.timestamp('requested_at').notNullable().defaultTo(knex.fn.now());
    table.timestamp('expires_at').nullable();
    table.timestamp('settled_at').nullable();
    table.index(['run_id', 'status']);
    table.index(['tenant', 'status', 'requested_at', 'id']);
  });
  await knex.schema.withSchema('holdfast').createTable('decisions', (table) => {
    table.text('id').primary();
    table.text('interruption_id').notNullable().references('id').inTable('holdfast.interruptions').onDelete('CASCADE');
    table.text('run_id').notNullable();
    table.text('tenant').notNullable().defaultTo('default');
    table.text('verdict').notNullable();
    table.text('actor').notNullable();
    table.text('message').nullable();
    table.text('value').notNullable();
    table.timestamp('decided_at').notNullable().defaultTo(knex.fn.now());
    table.unique(['interruption_id', 'actor']);
  });
  await knex.schema.withSchema('holdfast').createTable('timers', (table) => {
    table.text('id').primary();
    table.text('run_id').notNullable().references('id').inTable('holdfast.runs').onDelete('CASCADE');
    table.text('tenant').notNullable().defaultTo('default');
    table.text('kind').notNullable();
    table.text('target').notNullable();
    table.timestamp('due_at').notNullable();
    table.index(['due_at']);
  });
}
