import type { Knex } from 'knex';

/** Serves lists of who asked for what about a run. */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(
    'CREATE INDEX access_log_tenant_target_at_id_index ON holdfast.access_log (tenant, target, at, id) WHERE target IS NOT NULL',
  );
  await knex.raw('CREATE INDEX access_log_tenant_actor_at_id_index ON holdfast.access_log (tenant, actor, at, id)');
}
