/** Containers of runs. */
export const CONTAINERS = `
  -- Containers of runs. A row commits before its container exists.
  CREATE TABLE holdfast.environments (
    run_id text NOT NULL,
    attempt integer NOT NULL,
    tenant text NOT NULL DEFAULT 'default',
    engine text NOT NULL,
    key text NOT NULL,
    spec text NOT NULL,
    spec_hash text NOT NULL,
    state text NOT NULL DEFAULT 'new',
    lease_until timestamptz,
    deadline timestamptz NOT NULL,
    started_at timestamptz,
    created_at timestamptz NOT NULL DEFAULT current_timestamp,
    updated_at timestamptz NOT NULL DEFAULT current_timestamp,
    purpose text NOT NULL DEFAULT 'run',
    source_run text,
    source_purpose text,
    source_attempt integer,
    seq integer,
    keep_hours integer,
    PRIMARY KEY (run_id, purpose, attempt),
    CONSTRAINT environments_run_id_foreign FOREIGN KEY (run_id) REFERENCES holdfast.runs(id) ON DELETE CASCADE
  );
  CREATE INDEX environments_here ON holdfast.environments (engine, state) WHERE state <> 'gone';

  -- One row: containers name this database by this id.
  CREATE TABLE holdfast.instance (
    id text NOT NULL,
    tenant text NOT NULL DEFAULT 'default',
    single boolean NOT NULL DEFAULT true,
    PRIMARY KEY (id),
    CONSTRAINT instance_single_check CHECK (single),
    CONSTRAINT instance_single_unique UNIQUE (single)
  );
`;
