/** Access log and events of the system. */
export const OPS = `
  -- One row per request to an audited route, refused requests included.
  CREATE TABLE holdfast.access_log (
    id bigserial,
    tenant text NOT NULL DEFAULT 'default',
    at timestamptz NOT NULL DEFAULT current_timestamp,
    actor text NOT NULL,
    role text NOT NULL,
    method text NOT NULL,
    route text NOT NULL,
    target text,
    status integer NOT NULL,
    PRIMARY KEY (id)
  );
  CREATE INDEX access_log_at_index ON holdfast.access_log (at);
  CREATE INDEX access_log_tenant_at_index ON holdfast.access_log (tenant, at);

  -- Events of the whole system. position is null until the event has its place in the order.
  CREATE TABLE holdfast.system_events (
    id bigserial,
    "position" bigint,
    tenant text NOT NULL DEFAULT 'default',
    shared boolean NOT NULL DEFAULT false,
    kind text NOT NULL,
    key text,
    task_id text,
    run_id text,
    worker_id text,
    data text NOT NULL DEFAULT '{}',
    at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (id)
  );
  CREATE UNIQUE INDEX system_events_key ON holdfast.system_events (key) WHERE key IS NOT NULL;
  CREATE INDEX system_events_placed ON holdfast.system_events ("position", tenant) WHERE "position" IS NOT NULL;
  CREATE INDEX system_events_unplaced ON holdfast.system_events (id) WHERE "position" IS NULL;

  -- One row: the last position given, and what was published last.
  CREATE TABLE holdfast.system_event_head (
    single boolean NOT NULL DEFAULT true,
    tenant text NOT NULL DEFAULT 'default',
    "position" bigint NOT NULL DEFAULT '0',
    trimmed bigint NOT NULL DEFAULT '0',
    queue_depth integer NOT NULL DEFAULT 0,
    PRIMARY KEY (single),
    CONSTRAINT system_event_head_single_check CHECK (single)
  );
`;
