import type { Knex } from 'knex';

/** Serves lists of runs by agent and by the code with which they failed. */
export async function up(knex: Knex): Promise<void> {
  await knex.raw('CREATE INDEX runs_tenant_agent_created_at_id_index ON holdfast.runs (tenant, agent, created_at, id)');
  await knex.raw(`CREATE INDEX runs_error_index ON holdfast.runs
    (tenant, ((regexp_match(error, '"code":"([a-z_]+)"'))[1]), created_at, id) WHERE error IS NOT NULL`);
}
