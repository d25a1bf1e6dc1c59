import type { Knex } from 'knex';

/**
 * Makes definitions of tasks a registry, and keeps datasets. A definition is canonical JSON: the first text under the key `category`
 * is its own, since the quotes of any other text are escaped.
 */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    ALTER TABLE holdfast.task_definitions
      ADD COLUMN category text NOT NULL DEFAULT '',
      ADD COLUMN difficulty text NOT NULL DEFAULT '',
      ADD COLUMN registered_at timestamptz NOT NULL DEFAULT current_timestamp,
      ADD COLUMN registered_by text,
      ADD COLUMN deprecated_at timestamptz,
      ADD COLUMN deprecated_by text,
      ADD COLUMN deprecated_reason text
  `);
  await knex.raw(`
    UPDATE holdfast.task_definitions SET
      category = coalesce(substring(definition from '"category":"([^"]*)"'), ''),
      difficulty = coalesce(substring(definition from '"difficulty":"([^"]*)"'), ''),
      registered_at = created_at
  `);
  await knex.raw('CREATE INDEX ON holdfast.task_definitions (tenant, registered_at, hash)');
  await knex.raw(`
    CREATE TABLE holdfast.datasets (
      tenant text NOT NULL DEFAULT 'default',
      name text NOT NULL,
      version text NOT NULL,
      id text NOT NULL,
      hash text NOT NULL,
      description text NOT NULL,
      tasks integer NOT NULL,
      created_by text NOT NULL,
      created_at timestamptz NOT NULL DEFAULT current_timestamp,
      PRIMARY KEY (tenant, name, version)
    )
  `);
  await knex.raw('CREATE INDEX ON holdfast.datasets (tenant, created_at, id)');
  await knex.raw(`
    CREATE TABLE holdfast.dataset_tasks (
      tenant text NOT NULL DEFAULT 'default',
      dataset text NOT NULL,
      dataset_version text NOT NULL,
      place integer NOT NULL,
      name text NOT NULL,
      hash text NOT NULL,
      PRIMARY KEY (tenant, dataset, dataset_version, place),
      FOREIGN KEY (tenant, dataset, dataset_version) REFERENCES holdfast.datasets (tenant, name, version),
      FOREIGN KEY (tenant, hash) REFERENCES holdfast.task_definitions (tenant, hash)
    )
  `);
}
