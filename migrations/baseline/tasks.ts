/** Tasks and their definitions. */
export const TASKS = `
  -- Definitions of tasks, stored once per hash.
  CREATE TABLE holdfast.task_definitions (
    tenant text NOT NULL DEFAULT 'default',
    hash text NOT NULL,
    name text NOT NULL,
    version text NOT NULL,
    definition text NOT NULL,
    created_at timestamptz NOT NULL DEFAULT current_timestamp,
    PRIMARY KEY (tenant, hash)
  );
  CREATE INDEX task_definitions_tenant_name_version_created_at_index
    ON holdfast.task_definitions (tenant, name, version, created_at);

  -- One row per submitted task, with the run of its current attempt.
  CREATE TABLE holdfast.tasks (
    id text NOT NULL,
    tenant text NOT NULL DEFAULT 'default',
    definition_hash text NOT NULL,
    name text NOT NULL,
    version text NOT NULL,
    category text NOT NULL,
    difficulty text NOT NULL,
    tags text[] NOT NULL,
    agent text NOT NULL,
    parameters text NOT NULL,
    seed bigint NOT NULL,
    image text,
    reward_function text,
    priority integer NOT NULL,
    metadata text NOT NULL,
    run_id text NOT NULL,
    attempts integer NOT NULL DEFAULT 1,
    status text NOT NULL DEFAULT 'open',
    result_type text,
    result text,
    reward double precision,
    verification_passed boolean,
    created_at timestamptz NOT NULL DEFAULT current_timestamp,
    updated_at timestamptz NOT NULL DEFAULT current_timestamp,
    completed_at timestamptz,
    retries text NOT NULL DEFAULT '{"firstMs":5000,"longestMs":300000,"most":0}',
    retry_at timestamptz,
    requeues integer NOT NULL DEFAULT 0,
    attempts_before integer NOT NULL DEFAULT 0,
    PRIMARY KEY (id),
    CONSTRAINT tasks_run_id_foreign FOREIGN KEY (run_id) REFERENCES holdfast.runs(id) ON DELETE CASCADE,
    CONSTRAINT tasks_tenant_definition_hash_foreign FOREIGN KEY (tenant, definition_hash)
      REFERENCES holdfast.task_definitions(tenant, hash)
  );
  CREATE INDEX dead_tasks ON holdfast.tasks (tenant, created_at, id)
    WHERE status = 'failed' AND result_type = 'error';
  CREATE INDEX tasks_run_id_index ON holdfast.tasks (run_id);
  CREATE INDEX tasks_tags_index ON holdfast.tasks USING gin (tags);
  CREATE INDEX tasks_tenant_category_created_at_id_index ON holdfast.tasks (tenant, category, created_at, id);
  CREATE INDEX tasks_tenant_created_at_id_index ON holdfast.tasks (tenant, created_at, id);
  CREATE INDEX tasks_tenant_name_created_at_id_index ON holdfast.tasks (tenant, name, created_at, id);
  CREATE INDEX tasks_tenant_status_created_at_id_index ON holdfast.tasks (tenant, status, created_at, id);
  CREATE INDEX tasks_to_retry ON holdfast.tasks (retry_at) WHERE retry_at IS NOT NULL;
`;
