import type { Knex } from 'knex';

/** What a worker looks for all the time, and what a decision removes, is found without reading the runs that wait or are over. */
export async function up(knex: Knex): Promise<void> {
  await knex.schema.withSchema('holdfast').alterTable('runs', (table) => {
    const predicate = knex.whereRaw("status in ('queued', 'running')");
    table.index(['updated_at'], 'runs_at_work_index', { predicate });
  });
  await knex.schema.withSchema('holdfast').alterTable('timers', (table) => {
    table.index(['target']);
  });
}
