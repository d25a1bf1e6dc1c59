import type { Knex } from 'knex';

/** Keeps up to which event of the system each webhook was told, and what keeps one from being told. */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`CREATE TABLE holdfast.webhooks (
    tenant text NOT NULL DEFAULT 'default',
    name text NOT NULL,
    position bigint NOT NULL,
    tries integer NOT NULL DEFAULT 0,
    due_at timestamptz NOT NULL DEFAULT current_timestamp,
    failing_since timestamptz,
    problem text,
    holder text,
    held_until timestamptz,
    PRIMARY KEY (name)
  )`);
}
