/** Tool calls, what a run waits for, and what settled it. */
export const INTERRUPTIONS = `
  -- Intent and outcome of each tool call. The intent commits before the body runs.
  CREATE TABLE holdfast.calls (
    run_id text NOT NULL,
    call_id text NOT NULL,
    tenant text NOT NULL DEFAULT 'default',
    tool text NOT NULL,
    tool_version text NOT NULL,
    effect text NOT NULL,
    digest text NOT NULL,
    execution text NOT NULL,
    worker text NOT NULL,
    epoch integer NOT NULL,
    outcome text,
    started_at timestamptz NOT NULL DEFAULT current_timestamp,
    finished_at timestamptz,
    waits integer NOT NULL DEFAULT 0,
    waiting text,
    resumed text,
    origin_run_id text,
    approved_in text,
    PRIMARY KEY (run_id, call_id),
    CONSTRAINT calls_run_id_foreign FOREIGN KEY (run_id) REFERENCES holdfast.runs(id) ON DELETE CASCADE
  );

  -- What a run waits for: an approval, an answer, an event or a time.
  CREATE TABLE holdfast.interruptions (
    id text NOT NULL,
    run_id text NOT NULL,
    tenant text NOT NULL DEFAULT 'default',
    agent text NOT NULL,
    segment integer NOT NULL,
    kind text NOT NULL,
    status text NOT NULL,
    call_id text,
    tool text,
    arguments text NOT NULL,
    reason text NOT NULL,
    reason_text text NOT NULL,
    verdicts text NOT NULL,
    digest text NOT NULL,
    required_approvals integer NOT NULL DEFAULT 1,
    requested_at timestamptz NOT NULL DEFAULT current_timestamp,
    expires_at timestamptz,
    settled_at timestamptz,
    tool_version text NOT NULL DEFAULT '',
    capabilities text NOT NULL DEFAULT '[]',
    wait text,
    event_name text,
    origin_run_id text,
    separate_requester boolean,
    PRIMARY KEY (id),
    CONSTRAINT interruptions_run_id_foreign FOREIGN KEY (run_id)
      REFERENCES holdfast.runs(id) ON DELETE CASCADE
  );
  CREATE INDEX interruptions_run_id_status_index ON holdfast.interruptions (run_id, status);
  CREATE INDEX interruptions_tenant_event_name_status_index ON holdfast.interruptions (tenant, event_name, status);
  CREATE INDEX interruptions_tenant_status_requested_at_id_index
    ON holdfast.interruptions (tenant, status, requested_at, id);

  -- Votes of people, and the one that settled each interruption.
  CREATE TABLE holdfast.decisions (
    id text NOT NULL,
    interruption_id text NOT NULL,
    run_id text NOT NULL,
    tenant text NOT NULL DEFAULT 'default',
    verdict text NOT NULL,
    actor text NOT NULL,
    message text,
    value text NOT NULL,
    decided_at timestamptz NOT NULL DEFAULT current_timestamp,
    vote integer NOT NULL DEFAULT 1,
    edit text,
    always text,
    PRIMARY KEY (id),
    CONSTRAINT decisions_interruption_id_actor_verdict_unique UNIQUE (interruption_id, actor, verdict),
    CONSTRAINT decisions_interruption_id_foreign FOREIGN KEY (interruption_id)
      REFERENCES holdfast.interruptions(id) ON DELETE CASCADE
  );

  -- Approvals that also cover later calls of the same run.
  CREATE TABLE holdfast.standing_decisions (
    id text NOT NULL,
    run_id text NOT NULL,
    tenant text NOT NULL DEFAULT 'default',
    interruption_id text NOT NULL,
    agent text NOT NULL,
    tool text NOT NULL,
    tool_version text NOT NULL,
    scope text NOT NULL,
    exact boolean NOT NULL,
    actor text NOT NULL,
    made_at timestamptz NOT NULL DEFAULT current_timestamp,
    revoked_at timestamptz,
    revoked_by text,
    PRIMARY KEY (id),
    CONSTRAINT standing_decisions_run_id_foreign FOREIGN KEY (run_id)
      REFERENCES holdfast.runs(id) ON DELETE CASCADE
  );
  CREATE INDEX standing_decisions_run_id_made_at_id_index ON holdfast.standing_decisions (run_id, made_at, id);

  -- Deadlines and wake-up times. Every worker settles due rows.
  CREATE TABLE holdfast.timers (
    id text NOT NULL,
    run_id text NOT NULL,
    tenant text NOT NULL DEFAULT 'default',
    kind text NOT NULL,
    target text NOT NULL,
    due_at timestamptz NOT NULL,
    PRIMARY KEY (id),
    CONSTRAINT timers_run_id_foreign FOREIGN KEY (run_id) REFERENCES holdfast.runs(id) ON DELETE CASCADE
  );
  CREATE INDEX timers_due_at_index ON holdfast.timers (due_at);
  CREATE INDEX timers_run_id_index ON holdfast.timers (run_id);
  CREATE INDEX timers_target_index ON holdfast.timers (target);

  -- Events from outside, kept until they expire, so that a later wait still finds them.
  CREATE TABLE holdfast.emitted_events (
    tenant text NOT NULL DEFAULT 'default',
    id text NOT NULL,
    name text NOT NULL,
    key text,
    run_id text,
    payload text NOT NULL,
    digest text NOT NULL,
    actor text NOT NULL,
    status text NOT NULL,
    delivered integer NOT NULL,
    emitted_at timestamptz NOT NULL DEFAULT current_timestamp,
    expires_at timestamptz NOT NULL,
    PRIMARY KEY (tenant, id)
  );
  CREATE INDEX emitted_events_expires_at_index ON holdfast.emitted_events (expires_at);
  CREATE INDEX emitted_events_run_id_index ON holdfast.emitted_events (run_id) WHERE run_id IS NOT NULL;
  CREATE INDEX emitted_events_tenant_status_name_emitted_at_index
    ON holdfast.emitted_events (tenant, status, name, emitted_at);

  -- Tools declared deterministic that returned a different output in a replay.
  CREATE TABLE holdfast.tool_marks (
    tenant text NOT NULL,
    tool text NOT NULL,
    tool_version text NOT NULL,
    run_id text NOT NULL,
    seq integer NOT NULL,
    marked_at timestamptz NOT NULL DEFAULT current_timestamp,
    PRIMARY KEY (tenant, tool, tool_version)
  );
`;
