import type { Knex } from 'knex';

/** Says of each worker which container engine it has, so that a run goes on where its container is. */
export async function up(knex: Knex): Promise<void> {
  await knex.raw('ALTER TABLE holdfast.workers ADD COLUMN engine text');
}
