import type { Knex } from 'knex';

/** Keeps which images an engine has because runs needed them, so that these can go again and no others. */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`CREATE TABLE holdfast.pulled_images (
    tenant text NOT NULL DEFAULT 'default',
    engine text NOT NULL,
    id text NOT NULL,
    names text NOT NULL,
    state text NOT NULL DEFAULT 'kept',
    lease_until timestamptz,
    pulled_at timestamptz NOT NULL DEFAULT current_timestamp,
    used_at timestamptz NOT NULL DEFAULT current_timestamp,
    PRIMARY KEY (engine, id)
  )`);
}
