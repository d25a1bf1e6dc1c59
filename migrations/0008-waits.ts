import type { Knex } from 'knex';

/** Waits inside a call: what a begun call waits for, what a run waits for, and events that were told from outside. */
export async function up(knex: Knex): Promise<void> {
  await knex.schema.withSchema('holdfast').alterTable('calls', (table) => {
    table.integer('waits').notNullable().defaultTo(0);
    table.text('waiting').nullable();
    table.text('resumed').nullable();
  });
  await knex.schema.withSchema('holdfast').alterTable('interruptions', (table) => {
    table.text('wait').nullable();
    table.text('event_name').nullable();
    table.index(['tenant', 'event_name', 'status']);
  });
  await knex.schema.withSchema('holdfast').createTable('emitted_events', (table) => {
    table.text('tenant').notNullable().defaultTo('default');
    table.text('id').notNullable();
    table.text('name').notNullable();
    table.text('key').nullable();
    table.text('run_id').nullable();
    table.text('payload').notNullable();
    table.text('digest').notNullable();
    table.text('actor').notNullable();
    table.text('status').notNullable();
    table.integer('delivered').notNullable();
    table.timestamp('emitted_at').notNullable().defaultTo(knex.fn.now());
    table.timestamp('expires_at').notNullable();
    table.primary(['tenant', 'id']);
    table.index(['tenant', 'status', 'name', 'emitted_at']);
    table.index(['expires_at']);
  });
}
