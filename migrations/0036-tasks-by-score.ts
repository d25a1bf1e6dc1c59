import type { Knex } from 'knex';

/** Finds tasks and trajectories by their rewards and scores, also where few of many fit. */
export async function up(knex: Knex): Promise<void> {
  await knex.raw('CREATE INDEX tasks_by_reward ON holdfast.tasks (tenant, reward) WHERE reward IS NOT NULL');
  await knex.raw(
    'CREATE INDEX trajectories_by_quality ON holdfast.trajectories (tenant, quality) WHERE quality IS NOT NULL',
  );
  await knex.raw('CREATE INDEX trajectories_by_diversity ON holdfast.trajectories (tenant, diversity)');
}
