/** Exports of training data. */
export const EXPORTS = `
  -- One row per export, until retention removes it.
  CREATE TABLE holdfast.exports (
    id text NOT NULL,
    tenant text NOT NULL DEFAULT 'default',
    status text NOT NULL,
    request text NOT NULL,
    actor text NOT NULL,
    folder text NOT NULL,
    runs integer,
    done integer NOT NULL DEFAULT 0,
    rows integer NOT NULL DEFAULT 0,
    skipped text NOT NULL DEFAULT '{}',
    files text NOT NULL DEFAULT '[]',
    error text,
    cancel_requested_at timestamptz,
    created_at timestamptz NOT NULL DEFAULT current_timestamp,
    updated_at timestamptz NOT NULL DEFAULT current_timestamp,
    completed_at timestamptz,
    revision integer NOT NULL DEFAULT 0,
    sending text,
    attempt text,
    attempt_by text,
    attempt_deaths integer NOT NULL DEFAULT 0,
    PRIMARY KEY (id)
  );
  CREATE INDEX exports_completed_at_index ON holdfast.exports (completed_at) WHERE completed_at IS NOT NULL;
  CREATE INDEX exports_tenant_created_at_id_index ON holdfast.exports (tenant, created_at, id);

  -- Runs that an export contains, so that an erasure can name the export.
  CREATE TABLE holdfast.exported_runs (
    tenant text NOT NULL DEFAULT 'default',
    export_id text NOT NULL,
    run_id text NOT NULL,
    part integer NOT NULL,
    gone_at timestamptz,
    PRIMARY KEY (export_id, run_id, part),
    CONSTRAINT exported_runs_export_id_foreign FOREIGN KEY (export_id)
      REFERENCES holdfast.exports(id) ON DELETE CASCADE
  );
  CREATE INDEX exported_runs_export_id_index ON holdfast.exported_runs (export_id) WHERE gone_at IS NOT NULL;
  CREATE INDEX exported_runs_run_id_index ON holdfast.exported_runs (run_id);

  -- Runs that an export at work reads, listed when it began.
  CREATE TABLE holdfast.export_runs (
    tenant text NOT NULL DEFAULT 'default',
    export_id text NOT NULL,
    "position" integer NOT NULL,
    run_id text NOT NULL,
    task text NOT NULL,
    PRIMARY KEY (export_id, "position"),
    CONSTRAINT export_runs_export_id_foreign FOREIGN KEY (export_id)
      REFERENCES holdfast.exports(id) ON DELETE CASCADE
  );
  CREATE INDEX export_runs_run_id_index ON holdfast.export_runs (run_id);

  -- Digests of rows that an export at work has written, so that none is written twice.
  CREATE TABLE holdfast.export_digests (
    tenant text NOT NULL DEFAULT 'default',
    export_id text NOT NULL,
    digest text NOT NULL,
    part integer NOT NULL,
    PRIMARY KEY (export_id, digest),
    CONSTRAINT export_digests_export_id_foreign FOREIGN KEY (export_id)
      REFERENCES holdfast.exports(id) ON DELETE CASCADE
  );
`;
