/** Runs, and the keys that keep a request from being done twice. */
export const RUNS = `
  -- One row per run. A segment end, a decision and a cancellation lock this row first.
  CREATE TABLE holdfast.runs (
    id text NOT NULL,
    tenant text NOT NULL DEFAULT 'default',
    parent_run_id text,
    agent text NOT NULL,
    agent_version text NOT NULL,
    agent_hash text NOT NULL,
    status text NOT NULL,
    priority integer NOT NULL,
    input text NOT NULL,
    grants text NOT NULL,
    limits text NOT NULL,
    metadata text NOT NULL,
    output text,
    error text,
    segment integer NOT NULL DEFAULT 0,
    turns integer NOT NULL DEFAULT 0,
    input_tokens bigint NOT NULL DEFAULT '0',
    output_tokens bigint NOT NULL DEFAULT '0',
    total_tokens bigint NOT NULL DEFAULT '0',
    cost_nano_usd bigint,
    active_ms bigint NOT NULL DEFAULT '0',
    segment_started_at timestamptz,
    cancel_requested_at timestamptz,
    cancel_reason text,
    created_at timestamptz NOT NULL DEFAULT current_timestamp,
    updated_at timestamptz NOT NULL DEFAULT current_timestamp,
    completed_at timestamptz,
    session_id text,
    history_items integer NOT NULL DEFAULT 0,
    parent_call_id text,
    ancestors text NOT NULL DEFAULT '[]',
    time_left_ms bigint,
    child_input_tokens bigint NOT NULL DEFAULT '0',
    child_output_tokens bigint NOT NULL DEFAULT '0',
    child_total_tokens bigint NOT NULL DEFAULT '0',
    child_active_ms bigint NOT NULL DEFAULT '0',
    forked_from_run_id text,
    forked_from_seq integer,
    recorded_seq integer,
    model text,
    stream boolean,
    rebuilt_segment integer,
    child_cost_nano_usd bigint DEFAULT '0',
    erased_at timestamptz,
    task_id text,
    scaffold text,
    PRIMARY KEY (id)
  );
  CREATE INDEX runs_at_work_index ON holdfast.runs (updated_at) WHERE status IN ('queued', 'running');
  CREATE INDEX runs_forked_from_run_id_index ON holdfast.runs (forked_from_run_id);
  CREATE INDEX runs_of_tasks ON holdfast.runs (task_id, created_at) WHERE task_id IS NOT NULL;
  CREATE INDEX runs_over_index ON holdfast.runs (status, completed_at, id) WHERE completed_at IS NOT NULL;
  CREATE INDEX runs_parent_run_id_created_at_id_index ON holdfast.runs (parent_run_id, created_at, id);
  CREATE INDEX runs_tenant_created_at_id_index ON holdfast.runs (tenant, created_at, id);
  CREATE INDEX runs_tenant_session_id_index ON holdfast.runs (tenant, session_id) WHERE session_id IS NOT NULL;
  CREATE INDEX runs_tenant_status_created_at_id_index ON holdfast.runs (tenant, status, created_at, id);
  CREATE INDEX runs_to_erase_index
    ON holdfast.runs (status, completed_at, id) WHERE completed_at IS NOT NULL AND erased_at IS NULL;

  -- Requests that a client may repeat without starting a second run.
  CREATE TABLE holdfast.idempotency_keys (
    tenant text NOT NULL DEFAULT 'default',
    operation text NOT NULL,
    key text NOT NULL,
    fingerprint text NOT NULL,
    run_id text NOT NULL,
    created_at timestamptz NOT NULL DEFAULT current_timestamp,
    PRIMARY KEY (tenant, operation, key),
    CONSTRAINT idempotency_keys_run_id_foreign FOREIGN KEY (run_id)
      REFERENCES holdfast.runs(id) ON DELETE CASCADE
  );
  CREATE INDEX idempotency_keys_created_at_index ON holdfast.idempotency_keys (created_at);
  CREATE INDEX idempotency_keys_run_id_index ON holdfast.idempotency_keys (run_id);
`;
