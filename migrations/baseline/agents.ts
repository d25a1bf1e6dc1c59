/** Agents as they were when a run used them, tools of MCP servers, states of the SDK, and sessions. */
export const AGENTS = `
  -- Every agent definition an engine was started with, so that a run says exactly what ran.
  CREATE TABLE holdfast.agents (
    tenant text NOT NULL DEFAULT 'default',
    name text NOT NULL,
    definition_hash text NOT NULL,
    version text NOT NULL,
    definition text NOT NULL,
    created_at timestamptz NOT NULL DEFAULT current_timestamp,
    PRIMARY KEY (tenant, name, definition_hash)
  );

  -- Tool lists of MCP servers, stored once per digest.
  CREATE TABLE holdfast.mcp_lists (
    tenant text NOT NULL DEFAULT 'default',
    digest text NOT NULL,
    definitions text NOT NULL,
    created_at timestamptz NOT NULL DEFAULT current_timestamp,
    PRIMARY KEY (tenant, digest)
  );

  -- The tool list of each server that a run was given.
  CREATE TABLE holdfast.mcp_pins (
    run_id text NOT NULL,
    server text NOT NULL,
    tenant text NOT NULL DEFAULT 'default',
    digest text NOT NULL,
    segment integer NOT NULL,
    created_at timestamptz NOT NULL DEFAULT current_timestamp,
    PRIMARY KEY (run_id, server),
    CONSTRAINT mcp_pins_run_id_foreign FOREIGN KEY (run_id) REFERENCES holdfast.runs(id) ON DELETE CASCADE
  );

  -- Serialised state of the Agents SDK, one per segment. A cache: the log can rebuild it.
  CREATE TABLE holdfast.snapshots (
    run_id text NOT NULL,
    segment integer NOT NULL,
    tenant text NOT NULL DEFAULT 'default',
    sdk text NOT NULL,
    digest text NOT NULL,
    state text NOT NULL,
    created_at timestamptz NOT NULL DEFAULT current_timestamp,
    PRIMARY KEY (run_id, segment),
    CONSTRAINT snapshots_run_id_foreign FOREIGN KEY (run_id) REFERENCES holdfast.runs(id) ON DELETE CASCADE
  );

  -- States that users save by name through a RunStateStore.
  CREATE TABLE holdfast.saved_states (
    tenant text NOT NULL DEFAULT 'default',
    name text NOT NULL,
    envelope text NOT NULL,
    saved_at timestamptz NOT NULL DEFAULT current_timestamp,
    PRIMARY KEY (tenant, name)
  );

  -- A conversation over several runs. run_id names the run that holds it now.
  CREATE TABLE holdfast.sessions (
    tenant text NOT NULL DEFAULT 'default',
    id text NOT NULL,
    run_id text,
    items integer NOT NULL DEFAULT 0,
    bytes bigint NOT NULL DEFAULT '0',
    created_at timestamptz NOT NULL DEFAULT current_timestamp,
    updated_at timestamptz NOT NULL DEFAULT current_timestamp,
    PRIMARY KEY (tenant, id),
    CONSTRAINT sessions_run_id_unique UNIQUE (run_id),
    CONSTRAINT sessions_run_id_foreign FOREIGN KEY (run_id) REFERENCES holdfast.runs(id) ON DELETE SET NULL
  );
  CREATE INDEX sessions_tenant_created_at_id_index ON holdfast.sessions (tenant, created_at, id);

  -- Items of a session, in order.
  CREATE TABLE holdfast.session_items (
    tenant text NOT NULL DEFAULT 'default',
    session_id text NOT NULL,
    seq integer NOT NULL,
    run_id text,
    item text NOT NULL,
    PRIMARY KEY (tenant, session_id, seq),
    CONSTRAINT session_items_run_id_foreign FOREIGN KEY (run_id)
      REFERENCES holdfast.runs(id) ON DELETE SET NULL,
    CONSTRAINT session_items_tenant_session_id_foreign FOREIGN KEY (tenant, session_id)
      REFERENCES holdfast.sessions(tenant, id) ON DELETE CASCADE
  );
  CREATE INDEX session_items_run_id_index ON holdfast.session_items (run_id);
`;
