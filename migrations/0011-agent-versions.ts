import type { Knex } from 'knex';

/** Keeps versions of agents that patches made: what they change, how they were tried, and which share of new runs they get. */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`CREATE TABLE holdfast.agent_versions (
    tenant text NOT NULL DEFAULT 'default',
    id text NOT NULL,
    agent text NOT NULL,
    base_hash text NOT NULL,
    definition_hash text NOT NULL,
    version text NOT NULL,
    patch text NOT NULL,
    report text,
    report_digest text,
    status text NOT NULL,
    share integer NOT NULL DEFAULT 0,
    measure text,
    actor text,
    reason text,
    created_at timestamptz NOT NULL DEFAULT current_timestamp,
    applied_at timestamptz,
    ended_at timestamptz,
    PRIMARY KEY (tenant, id),
    CHECK (status IN ('proposed', 'live', 'replaced', 'rolled_back')),
    CHECK (share BETWEEN 0 AND 100)
  )`);
  await knex.raw(
    `CREATE UNIQUE INDEX agent_versions_live_index ON holdfast.agent_versions (tenant, agent) WHERE status = 'live'`,
  );
  await knex.raw(
    'CREATE UNIQUE INDEX agent_versions_hash_index ON holdfast.agent_versions (tenant, agent, definition_hash)',
  );
  await knex.raw(
    'CREATE INDEX agent_versions_created_index ON holdfast.agent_versions (tenant, agent, created_at, id)',
  );
}
