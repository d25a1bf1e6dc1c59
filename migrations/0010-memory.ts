import type { Knex } from 'knex';

/** Keeps documents of memory, their changes, and which writes of calls were made. */
export async function up(knex: Knex): Promise<void> {
  // The word of the owner lets one index serve searches in a part of it: its posting list is met with those of the query.
  await knex.raw(`CREATE TABLE holdfast.memory_documents (
    tenant text NOT NULL DEFAULT 'default',
    space text NOT NULL,
    owner text NOT NULL,
    key text NOT NULL,
    scope text NOT NULL,
    version integer NOT NULL,
    value text NOT NULL,
    labels text NOT NULL,
    document bytea NOT NULL,
    words text NOT NULL,
    search tsvector GENERATED ALWAYS AS (
      to_tsvector('simple'::regconfig, words)
        || array_to_tsvector(ARRAY[md5(tenant || '/' || space || '/' || owner)])
    ) STORED,
    created_at timestamptz NOT NULL DEFAULT current_timestamp,
    changed_at timestamptz NOT NULL DEFAULT current_timestamp,
    expires_at timestamptz,
    PRIMARY KEY (tenant, space, owner, key)
  )`);
  await knex.raw('CREATE INDEX memory_documents_search_index ON holdfast.memory_documents USING gin (search)');
  await knex.raw(
    'CREATE INDEX memory_documents_changed_at_index ON holdfast.memory_documents (tenant, space, owner, changed_at, key)',
  );
  await knex.raw('CREATE INDEX memory_documents_owner_index ON holdfast.memory_documents (tenant, scope, owner)');
  await knex.raw(
    'CREATE INDEX memory_documents_expires_at_index ON holdfast.memory_documents (expires_at) WHERE expires_at IS NOT NULL',
  );
  await knex.raw(`CREATE TABLE holdfast.memory_changes (
    tenant text NOT NULL DEFAULT 'default',
    space text NOT NULL,
    owner text NOT NULL,
    key text NOT NULL,
    version integer NOT NULL,
    base integer NOT NULL,
    ops text NOT NULL,
    frontiers text NOT NULL,
    run_id text NOT NULL,
    call_id text NOT NULL,
    event integer NOT NULL,
    agent text NOT NULL,
    actors text NOT NULL,
    derived_from text NOT NULL,
    labels text NOT NULL,
    at timestamptz NOT NULL DEFAULT current_timestamp,
    PRIMARY KEY (tenant, space, owner, key, version),
    CONSTRAINT memory_changes_document_foreign FOREIGN KEY (tenant, space, owner, key)
      REFERENCES holdfast.memory_documents(tenant, space, owner, key) ON DELETE CASCADE
  )`);
  await knex.raw('CREATE INDEX memory_changes_run_id_index ON holdfast.memory_changes (run_id)');
  await knex.raw(`CREATE TABLE holdfast.memory_writes (
    call_key text NOT NULL,
    n integer NOT NULL,
    run_id text NOT NULL,
    tenant text NOT NULL DEFAULT 'default',
    version integer NOT NULL,
    at timestamptz NOT NULL DEFAULT current_timestamp,
    PRIMARY KEY (call_key, n),
    CONSTRAINT memory_writes_run_id_foreign FOREIGN KEY (run_id) REFERENCES holdfast.runs(id) ON DELETE CASCADE
  )`);
  await knex.raw('CREATE INDEX memory_writes_run_id_index ON holdfast.memory_writes (run_id)');
}
