import type { Knex } from 'knex';

/** Lets the log over all runs say that a document of memory was removed: such an entry is of no run. */
export async function up(knex: Knex): Promise<void> {
  await knex.raw('ALTER TABLE holdfast.log_entries ADD COLUMN document text, ADD COLUMN space text');
  await knex.raw('ALTER TABLE holdfast.log_entries ALTER COLUMN run_id DROP NOT NULL, ALTER COLUMN hash DROP NOT NULL');
  await knex.raw(
    'CREATE UNIQUE INDEX log_entries_document_unique ON holdfast.log_entries (document) WHERE document IS NOT NULL',
  );
}
