import type { Knex } from 'knex';

/** Serves the inbox by deadline, and what was decided last about the calls of a tool. */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`CREATE INDEX interruptions_waiting_index ON holdfast.interruptions
    (tenant, (coalesce(expires_at, '9999-12-31 00:00:00+00'::timestamptz)), id) WHERE status = 'pending'`);
  await knex.raw(`CREATE INDEX interruptions_decided_index ON holdfast.interruptions
    (tenant, tool, settled_at) WHERE settled_at IS NOT NULL AND kind = 'approval'`);
}
