import type { Knex } from 'knex';

/** Of which moment of a run an environment keeps the files, and for how long after its end. */
export async function up(knex: Knex): Promise<void> {
  await knex.schema.withSchema('holdfast').alterTable('environments', (table) => {
    table.integer('seq').nullable();
    table.integer('keep_hours').nullable();
  });
}
