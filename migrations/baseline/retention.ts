/** Erased and removed runs. */
export const RETENTION = `
  -- Runs whose content was erased, with actor and reason.
  CREATE TABLE holdfast.erasures (
    run_id text NOT NULL,
    tenant text NOT NULL DEFAULT 'default',
    actor text NOT NULL,
    reason text NOT NULL,
    seq integer NOT NULL,
    hash text NOT NULL,
    erased_at timestamptz NOT NULL DEFAULT current_timestamp,
    request_id text,
    PRIMARY KEY (run_id)
  );
  CREATE INDEX erasures_request_id_index ON holdfast.erasures (request_id) WHERE request_id IS NOT NULL;
  CREATE INDEX erasures_tenant_erased_at_index ON holdfast.erasures (tenant, erased_at);

  -- The people that a run is about, until erasure.
  CREATE TABLE holdfast.run_subjects (
    tenant text NOT NULL DEFAULT 'default',
    subject text NOT NULL,
    run_id text NOT NULL,
    PRIMARY KEY (tenant, subject, run_id),
    CONSTRAINT run_subjects_run_id_foreign FOREIGN KEY (run_id) REFERENCES holdfast.runs(id) ON DELETE CASCADE
  );
  CREATE INDEX run_subjects_run_id_index ON holdfast.run_subjects (run_id);

  -- Requests to erase every run of a subject.
  CREATE TABLE holdfast.erasure_requests (
    id text NOT NULL,
    tenant text NOT NULL DEFAULT 'default',
    subject text,
    status text NOT NULL,
    cancel boolean NOT NULL,
    actor text NOT NULL,
    reason text NOT NULL,
    erased integer NOT NULL DEFAULT 0,
    taken_until timestamptz,
    requested_at timestamptz NOT NULL DEFAULT current_timestamp,
    finished_at timestamptz,
    PRIMARY KEY (id)
  );
  CREATE UNIQUE INDEX erasure_requests_tenant_subject_unique
    ON holdfast.erasure_requests (tenant, subject) WHERE status = 'working';

  -- Runs that were removed with their log, and the event at which the log ended.
  CREATE TABLE holdfast.removed_runs (
    run_id text NOT NULL,
    tenant text NOT NULL DEFAULT 'default',
    seq integer NOT NULL,
    hash text NOT NULL,
    state_hash text NOT NULL,
    reason text NOT NULL,
    actor text NOT NULL,
    removed_at timestamptz NOT NULL DEFAULT current_timestamp,
    PRIMARY KEY (run_id)
  );
  CREATE INDEX removed_runs_tenant_removed_at_index ON holdfast.removed_runs (tenant, removed_at);
`;
