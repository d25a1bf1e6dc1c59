import type { Knex } from 'knex';

/** Keeps with a session the labels of what its runs had read from outside, for the next run in it. */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`ALTER TABLE holdfast.sessions ADD COLUMN labels text NOT NULL DEFAULT '[]'`);
}
