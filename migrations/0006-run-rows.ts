import type { Knex } from 'knex';

/** Serves lists of runs by tag, by the model that was asked and by what they wait for, and by cost and duration. */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`CREATE INDEX runs_tags_index ON holdfast.runs USING gin
    ((CASE WHEN metadata LIKE '%"tags":[%' AND position('\\u' in metadata) = 0 THEN metadata::jsonb -> 'tags' END) jsonb_path_ops)
    WHERE metadata LIKE '%"tags":[%'`);
  await knex.raw(`CREATE INDEX runs_cost_index ON holdfast.runs
    (tenant, (cost_nano_usd + child_cost_nano_usd), id) WHERE cost_nano_usd + child_cost_nano_usd > 0`);
  await knex.raw(`CREATE INDEX runs_duration_index ON holdfast.runs
    (tenant, (extract(epoch from completed_at - created_at)), id) WHERE isfinite(completed_at) AND isfinite(created_at)`);
  await knex.raw('CREATE INDEX charges_tenant_model_run_id_index ON holdfast.charges (tenant, model, run_id)');
  await knex.raw(`CREATE INDEX interruptions_kind_index ON holdfast.interruptions
    (tenant, kind, run_id) WHERE status = 'pending'`);
}
