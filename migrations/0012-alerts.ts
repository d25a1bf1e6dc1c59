import type { Knex } from 'knex';

/** Keeps the states of alerts, and finds tasks by the time of their end. */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`CREATE TABLE holdfast.alerts (
    tenant text NOT NULL DEFAULT 'default',
    name text NOT NULL,
    state text NOT NULL DEFAULT 'ok',
    since timestamptz NOT NULL DEFAULT current_timestamp,
    right_since timestamptz,
    told text NOT NULL DEFAULT 'ok',
    told_times integer NOT NULL DEFAULT 0,
    value double precision,
    compared double precision,
    tasks integer,
    evaluated_at timestamptz,
    next_at timestamptz NOT NULL DEFAULT current_timestamp,
    silenced_until timestamptz,
    silenced_by text,
    silence_reason text,
    PRIMARY KEY (tenant, name),
    CHECK (state IN ('ok', 'pending', 'firing')),
    CHECK (told IN ('ok', 'firing'))
  )`);
  await knex.raw(
    'CREATE INDEX tasks_ended ON holdfast.tasks (tenant, completed_at, id) WHERE completed_at IS NOT NULL',
  );
}
