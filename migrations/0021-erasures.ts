import type { Knex } from 'knex';

/** Whose content was erased, which runs were removed, and what both need to find without reading everything. */
export async function up(knex: Knex): Promise<void> {
  const schema = () => knex.schema.withSchema('holdfast');
  await schema().alterTable('runs', (table) => {
    table.timestamp('erased_at').nullable();
    table.index(['tenant', 'session_id'], undefined, { predicate: knex.whereNotNull('session_id') });
  });
  await schema().createTable('erasures', (table) => {
    table.text('run_id').primary();
    table.text('tenant').notNullable().defaultTo('default');
    table.text('actor').notNullable();
    table.text('reason').notNullable();
    table.integer('seq').notNullable();
    table.text('hash').notNullable();
    table.timestamp('erased_at').notNullable().defaultTo(knex.fn.now());
    table.index(['tenant', 'erased_at']);
  });
  await schema().createTable('removed_runs', (table) => {
    table.text('run_id').primary();
    table.text('tenant').notNullable().defaultTo('default');
    table.integer('seq').notNullable();
    table.text('hash').notNullable();
    table.text('state_hash').notNullable();
    table.text('reason').notNullable();
    table.text('actor').notNullable();
    table.timestamp('removed_at').notNullable().defaultTo(knex.fn.now());
    table.index(['tenant', 'removed_at']);
  });
  // What hangs on a run by a foreign key, or is looked for by its run.
  for (const name of ['session_items', 'timers', 'idempotency_keys'])
    await schema().alterTable(name, (table) => table.index(['run_id']));
  await schema().alterTable('emitted_events', (table) =>
    table.index(['run_id'], undefined, { predicate: knex.whereNotNull('run_id') }),
  );
}
