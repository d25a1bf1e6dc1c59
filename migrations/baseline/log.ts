/** The log of each run. */
export const LOG = `
  -- The hash chain of each run. Payloads are erasable, their hashes are not.
  CREATE TABLE holdfast.events (
    run_id text NOT NULL,
    seq integer NOT NULL,
    tenant text NOT NULL DEFAULT 'default',
    key text NOT NULL,
    v smallint NOT NULL,
    parent_id text,
    kind text NOT NULL,
    at text NOT NULL,
    data text,
    data_hash text NOT NULL,
    state_version integer NOT NULL,
    state_hash_before text NOT NULL,
    state_hash_after text NOT NULL,
    prev_hash text NOT NULL,
    hash text NOT NULL,
    worker text,
    PRIMARY KEY (run_id, seq),
    CONSTRAINT events_run_id_key_unique UNIQUE (run_id, key),
    CONSTRAINT events_run_id_foreign FOREIGN KEY (run_id) REFERENCES holdfast.runs(id) ON DELETE CASCADE
  );

  -- Where the log of each run ends, and the state that it folds to.
  CREATE TABLE holdfast.run_heads (
    run_id text NOT NULL,
    tenant text NOT NULL DEFAULT 'default',
    seq integer NOT NULL,
    hash text NOT NULL,
    state text NOT NULL,
    state_hash text NOT NULL,
    at text NOT NULL,
    moved boolean NOT NULL DEFAULT true,
    PRIMARY KEY (run_id),
    CONSTRAINT run_heads_run_id_foreign FOREIGN KEY (run_id) REFERENCES holdfast.runs(id) ON DELETE CASCADE
  );
  CREATE INDEX run_heads_moved_index ON holdfast.run_heads (run_id) WHERE moved;

  -- The key for the payload hashes of each run. Erasure deletes it.
  CREATE TABLE holdfast.run_keys (
    run_id text NOT NULL,
    tenant text NOT NULL DEFAULT 'default',
    key text NOT NULL,
    PRIMARY KEY (run_id),
    CONSTRAINT run_keys_run_id_foreign FOREIGN KEY (run_id) REFERENCES holdfast.runs(id) ON DELETE CASCADE
  );

  -- The folded state at some events, so that a reader need not start at the first event.
  CREATE TABLE holdfast.fold_snapshots (
    run_id text NOT NULL,
    seq integer NOT NULL,
    tenant text NOT NULL DEFAULT 'default',
    hash text NOT NULL,
    state text NOT NULL,
    state_hash text NOT NULL,
    PRIMARY KEY (run_id, seq),
    CONSTRAINT fold_snapshots_run_id_foreign FOREIGN KEY (run_id)
      REFERENCES holdfast.runs(id) ON DELETE CASCADE
  );
`;
