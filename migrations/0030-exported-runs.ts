import type { Knex } from 'knex';

/** Which runs are in exports, so that one that is erased is left out of those at work, and named by those that were completed. */
export async function up(knex: Knex): Promise<void> {
  const schema = () => knex.schema.withSchema('holdfast');
  await schema().alterTable('exports', (table) => {
    table.integer('revision').notNullable().defaultTo(0);
  });
  await schema().createTable('exported_runs', (table) => {
    table.text('tenant').notNullable().defaultTo('default');
    table.text('export_id').notNullable().references('id').inTable('holdfast.exports').onDelete('CASCADE');
    table.text('run_id').notNullable();
    table.integer('part').notNullable();
    table.timestamp('gone_at').nullable();
    table.primary(['export_id', 'run_id', 'part']);
    table.index(['run_id']);
    table.index(['export_id'], undefined, { predicate: knex.whereNotNull('gone_at') });
  });
  await schema().alterTable('erasures', (table) => {
    table.text('request_id').nullable();
    table.index(['request_id'], undefined, { predicate: knex.whereNotNull('request_id') });
  });
}
