import type { Knex } from 'knex';

/** Says of each worker whether it has a container engine, so that workers without one leave runs to those that have it. */
export async function up(knex: Knex): Promise<void> {
  await knex.raw('ALTER TABLE holdfast.workers ADD COLUMN containers boolean NOT NULL DEFAULT false');
}
