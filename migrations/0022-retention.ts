import type { Knex } from 'knex';

/** What workers do now and then, and what finds the rows that are old enough to go. */
export async function up(knex: Knex): Promise<void> {
  const schema = () => knex.schema.withSchema('holdfast');
  await schema().createTable('chores', (table) => {
    table.text('name').primary();
    table.text('tenant').notNullable().defaultTo('default');
    table.timestamp('due_at').notNullable();
  });
  await knex.raw("insert into holdfast.chores (name, due_at) values ('retention', now() + interval '1 hour')");
  await schema().alterTable('runs', (table) => {
    const predicate = knex.whereNotNull('completed_at');
    table.index(['status', 'completed_at', 'id'], 'runs_over_index', { predicate });
    const unerased = knex.whereRaw('completed_at is not null and erased_at is null');
    table.index(['status', 'completed_at', 'id'], 'runs_to_erase_index', { predicate: unerased });
  });
  await schema().alterTable('access_log', (table) => table.index(['at']));
  await schema().alterTable('idempotency_keys', (table) => table.index(['created_at']));
}
