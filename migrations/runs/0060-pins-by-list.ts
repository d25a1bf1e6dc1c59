import type { Knex } from 'knex';

/** Finds the runs that were given a tool list, so that one goes with the last of them. */
export async function up(knex: Knex): Promise<void> {
  await knex.raw('CREATE INDEX mcp_pins_list ON holdfast.mcp_pins (tenant, digest)');
}
