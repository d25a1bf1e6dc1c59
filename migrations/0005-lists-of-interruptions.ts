import type { Knex } from 'knex';

/** Serves lists of interruptions of any status, also of one agent or tool. */
export async function up(knex: Knex): Promise<void> {
  for (const column of ['', 'agent, ', 'tool, '])
    await knex.raw(`CREATE INDEX ON holdfast.interruptions (tenant, ${column}requested_at, id)`);
}
