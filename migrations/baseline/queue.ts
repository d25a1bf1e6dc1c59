/** Workers, and limits of the queue. */
export const QUEUE = `
  -- One row per worker id. The epoch rises at each start and fences the process before.
  CREATE TABLE holdfast.workers (
    id text NOT NULL,
    tenant text NOT NULL DEFAULT 'default',
    epoch integer NOT NULL,
    build text NOT NULL,
    pid integer NOT NULL,
    started_at timestamptz NOT NULL DEFAULT current_timestamp,
    heartbeat_at timestamptz NOT NULL DEFAULT current_timestamp,
    stopped_at timestamptz,
    role text NOT NULL DEFAULT 'all',
    capacity integer NOT NULL DEFAULT 0,
    running integer NOT NULL DEFAULT 0,
    alone_run_id text,
    stop_asked text,
    session text,
    recording_version integer NOT NULL DEFAULT 1,
    told_status text,
    leaving_at timestamptz,
    PRIMARY KEY (id)
  );

  -- Worker deaths during the current step of a run, one row per run.
  CREATE TABLE holdfast.crashes (
    run_id text NOT NULL,
    tenant text NOT NULL DEFAULT 'default',
    segment integer NOT NULL,
    steps integer NOT NULL,
    crashes integer NOT NULL,
    worker text NOT NULL,
    crashed_at timestamptz NOT NULL DEFAULT current_timestamp,
    alone integer NOT NULL DEFAULT 0,
    PRIMARY KEY (run_id),
    CONSTRAINT crashes_run_id_foreign FOREIGN KEY (run_id) REFERENCES holdfast.runs(id) ON DELETE CASCADE
  );

  -- Limits from the configuration of the process that started last.
  CREATE TABLE holdfast.dispatch_limits (
    tenant text NOT NULL DEFAULT 'default',
    kind text NOT NULL,
    name text NOT NULL,
    concurrency integer,
    rate_runs integer,
    rate_per_ms integer,
    PRIMARY KEY (kind, name)
  );

  -- Starts that a rate limit counts.
  CREATE TABLE holdfast.dispatch_starts (
    run_id text NOT NULL,
    tenant text NOT NULL DEFAULT 'default',
    agent text NOT NULL,
    started_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL,
    PRIMARY KEY (run_id)
  );
  CREATE INDEX dispatch_starts_agent_started_at_index ON holdfast.dispatch_starts (agent, started_at);
  CREATE INDEX dispatch_starts_expires_at_index ON holdfast.dispatch_starts (expires_at);
  CREATE INDEX dispatch_starts_tenant_started_at_index ON holdfast.dispatch_starts (tenant, started_at);

  -- Work beside runs that is going on. A row of a dead process counts as a death.
  CREATE TABLE holdfast.work_notes (
    id bigserial,
    tenant text NOT NULL DEFAULT 'default',
    name text NOT NULL,
    worker text NOT NULL,
    epoch integer NOT NULL,
    began_at timestamptz NOT NULL DEFAULT current_timestamp,
    PRIMARY KEY (id)
  );
  CREATE INDEX work_notes_name_index ON holdfast.work_notes (tenant, name);
  CREATE INDEX work_notes_worker_index ON holdfast.work_notes (worker, epoch);

  -- Periodic maintenance. One worker at a time takes a due row.
  CREATE TABLE holdfast.chores (
    name text NOT NULL,
    tenant text NOT NULL DEFAULT 'default',
    due_at timestamptz NOT NULL,
    PRIMARY KEY (name)
  );
`;
