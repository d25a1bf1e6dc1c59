import type { Knex } from 'knex';

/** Whether somebody else than who asked for the run must approve; null: asked by a build that did not say. */
export async function up(knex: Knex): Promise<void> {
  await knex.schema.withSchema('holdfast').alterTable('interruptions', (table) => {
    table.boolean('separate_requester').nullable();
  });
}
