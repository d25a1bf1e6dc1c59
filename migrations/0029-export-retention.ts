import type { Knex } from 'knex';

/** What finds exports that are old enough to go, and a run among those that exports list. */
export async function up(knex: Knex): Promise<void> {
  const schema = () => knex.schema.withSchema('holdfast');
  await schema().alterTable('exports', (table) =>
    table.index(['completed_at'], undefined, { predicate: knex.whereNotNull('completed_at') }),
  );
  await schema().alterTable('export_runs', (table) => table.index(['run_id']));
}
