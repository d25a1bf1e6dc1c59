import type { Knex } from 'knex';

/** Keeps of each write of memory what its rows were, so that the log of its run can say whether someone has changed them since. */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(
    'ALTER TABLE holdfast.memory_documents ADD COLUMN id text, ADD COLUMN salt text, ADD COLUMN remade text',
  );
  // Documents that are there already have no evidence, and get a name with their next change.
  await knex.raw('ALTER TABLE holdfast.memory_documents ALTER COLUMN id SET DEFAULT gen_random_uuid()::text');
  await knex.raw(
    'ALTER TABLE holdfast.memory_writes ADD COLUMN document text, ADD COLUMN change text, ADD COLUMN state text',
  );
  await knex.raw('CREATE INDEX memory_documents_id_index ON holdfast.memory_documents (id)');
  await knex.raw('CREATE INDEX memory_writes_document_index ON holdfast.memory_writes (document, version)');
}
