import type { Knex } from 'knex';

/** Keeps the vectors of documents of memory. The signs are apart from the numbers: a search looks at the signs of all documents of an owner. */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`CREATE TABLE holdfast.memory_embeddings (
    tenant text NOT NULL DEFAULT 'default',
    space text NOT NULL,
    owner text NOT NULL,
    key text NOT NULL,
    model text,
    dimensions integer,
    signs bit varying,
    tries integer NOT NULL DEFAULT 0,
    due_at timestamptz NOT NULL DEFAULT current_timestamp,
    PRIMARY KEY (tenant, space, owner, key),
    CONSTRAINT memory_embeddings_document_foreign FOREIGN KEY (tenant, space, owner, key)
      REFERENCES holdfast.memory_documents(tenant, space, owner, key) ON DELETE CASCADE
  )`);
  await knex.raw(`CREATE INDEX memory_embeddings_due_index ON holdfast.memory_embeddings (space, due_at)
    WHERE model IS NULL`);
  await knex.raw(`CREATE INDEX memory_embeddings_missing_index ON holdfast.memory_embeddings (tenant, space, owner)
    WHERE model IS NULL`);
  await knex.raw(`CREATE TABLE holdfast.memory_vectors (
    tenant text NOT NULL DEFAULT 'default',
    space text NOT NULL,
    owner text NOT NULL,
    key text NOT NULL,
    vector bytea NOT NULL,
    PRIMARY KEY (tenant, space, owner, key),
    CONSTRAINT memory_vectors_embedding_foreign FOREIGN KEY (tenant, space, owner, key)
      REFERENCES holdfast.memory_embeddings(tenant, space, owner, key) ON DELETE CASCADE
  )`);
  // Floating point numbers do not get shorter by compression.
  await knex.raw('ALTER TABLE holdfast.memory_vectors ALTER COLUMN vector SET STORAGE EXTERNAL');
}
