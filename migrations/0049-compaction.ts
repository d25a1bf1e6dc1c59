import type { Knex } from 'knex';

/** When the files of the embedded database were compacted last, and what finds losses since then. */
export async function up(knex: Knex): Promise<void> {
  await knex.raw("insert into holdfast.chores (name, due_at) values ('compact', '-infinity')");
  await knex.schema.withSchema('holdfast').alterTable('log_entries', (table) => {
    table.index(['at'], 'log_entries_losses_index', { predicate: knex.whereNotNull('loss') });
  });
}
