import type { Knex } from 'knex';

/**
 * Keeps in which transaction a row of signs changed. A process that has the signs of a space in memory reads only those that changed since.
 */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(
    'ALTER TABLE holdfast.memory_embeddings ADD COLUMN changed_in xid8 NOT NULL DEFAULT pg_current_xact_id()',
  );
  await knex.raw(
    'CREATE INDEX memory_embeddings_changed_index ON holdfast.memory_embeddings (tenant, space, changed_in)',
  );
}
