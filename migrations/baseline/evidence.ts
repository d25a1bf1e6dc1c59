/** The signed log over all runs. */
export const EVIDENCE = `
  -- Leaves of the signed Merkle tree over all runs, with the losses of runs.
  CREATE TABLE holdfast.log_entries (
    index bigint NOT NULL,
    tenant text NOT NULL DEFAULT 'default',
    run_id text NOT NULL,
    seq integer NOT NULL,
    hash text NOT NULL,
    state_hash text,
    complete boolean,
    previous text,
    hashes text NOT NULL,
    at timestamptz NOT NULL DEFAULT current_timestamp,
    loss text,
    actor text,
    reason text,
    PRIMARY KEY (index)
  );
  CREATE INDEX log_entries_losses_index ON holdfast.log_entries (at) WHERE loss IS NOT NULL;
  CREATE UNIQUE INDEX log_entries_run_id_seq_loss_unique ON holdfast.log_entries (run_id, seq, COALESCE(loss, ''));

  -- The newest 10,000 signed checkpoints.
  CREATE TABLE holdfast.log_checkpoints (
    size bigint NOT NULL,
    tenant text NOT NULL DEFAULT 'default',
    root text NOT NULL,
    note text NOT NULL,
    at timestamptz NOT NULL DEFAULT current_timestamp,
    PRIMARY KEY (size)
  );
`;
