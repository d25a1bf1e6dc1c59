import type { Knex } from 'knex';

/** Keeps which runs have artifacts in a store, so that these go with them. A row stays until its objects are gone, also without its run. */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`CREATE TABLE holdfast.artifacts (
    run_id text NOT NULL PRIMARY KEY,
    tenant text NOT NULL DEFAULT 'default',
    place text NOT NULL,
    goes_at timestamptz,
    created_at timestamptz NOT NULL DEFAULT current_timestamp
  )`);
  await knex.raw('CREATE INDEX artifacts_goes_at_index ON holdfast.artifacts (goes_at) WHERE goes_at IS NOT NULL');
}
