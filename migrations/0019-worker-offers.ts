import type { Knex } from 'knex';

/** Says of each worker what it has for containers, so that runs go to workers that have what they require. */
export async function up(knex: Knex): Promise<void> {
  await knex.raw('ALTER TABLE holdfast.workers ADD COLUMN offer text');
}
