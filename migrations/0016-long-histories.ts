import type { Knex } from 'knex';

/** Serves runs of a status by duration, runs of an agent by status, and interruptions of any status by deadline. */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`CREATE INDEX runs_status_duration_index ON holdfast.runs
    (tenant, status, (extract(epoch from completed_at - created_at)), id) WHERE isfinite(completed_at) AND isfinite(created_at)`);
  await knex.raw('CREATE INDEX runs_agent_status_index ON holdfast.runs (tenant, agent, status, created_at, id)');
  await knex.raw(`CREATE INDEX interruptions_due_index ON holdfast.interruptions
    (tenant, (coalesce(expires_at, '9999-12-31 00:00:00+00'::timestamptz)), id)`);
}
