import type { Knex } from 'knex';

/** Keeps when the time of a run is over that may take only so long from its start. Others have no row. */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`CREATE TABLE holdfast.run_deadlines (
    run_id text NOT NULL,
    tenant text NOT NULL DEFAULT 'default',
    ends_at timestamptz NOT NULL,
    PRIMARY KEY (run_id),
    CONSTRAINT run_deadlines_run_id_foreign FOREIGN KEY (run_id) REFERENCES holdfast.runs(id) ON DELETE CASCADE
  )`);
  await knex.raw('CREATE INDEX run_deadlines_ends_at_index ON holdfast.run_deadlines (ends_at)');
}
