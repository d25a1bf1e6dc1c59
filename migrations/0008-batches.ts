import type { Knex } from 'knex';

/** Keeps which tasks were submitted together, and under which key. */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`CREATE TABLE holdfast.batches (
    tenant text NOT NULL DEFAULT 'default',
    key text NOT NULL,
    actor text NOT NULL,
    submitted_at timestamptz NOT NULL DEFAULT current_timestamp,
    lines integer,
    refused integer,
    PRIMARY KEY (tenant, key)
  )`);
  await knex.raw('CREATE INDEX batches_tenant_submitted_at_key_index ON holdfast.batches (tenant, submitted_at, key)');
  await knex.raw('ALTER TABLE holdfast.tasks ADD COLUMN batch text');
  await knex.raw(`CREATE INDEX tasks_of_batches ON holdfast.tasks (tenant, batch, created_at, id)
    INCLUDE (status, verification_passed, reward) WHERE batch IS NOT NULL`);
}
