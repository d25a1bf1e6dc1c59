/** Rewards, and the index of runs that have ended. */
export const TRAJECTORIES = `
  -- Versions of the reward of a run, each bound to the version before and to the log.
  CREATE TABLE holdfast.rewards (
    run_id text NOT NULL,
    version integer NOT NULL,
    tenant text NOT NULL DEFAULT 'default',
    data text,
    data_hash text NOT NULL,
    actor text NOT NULL,
    at text NOT NULL,
    head_seq integer NOT NULL,
    head_hash text NOT NULL,
    prev_hash text,
    hash text NOT NULL,
    PRIMARY KEY (run_id, version),
    CONSTRAINT rewards_run_id_foreign FOREIGN KEY (run_id) REFERENCES holdfast.runs(id) ON DELETE CASCADE
  );

  -- Index of ended runs, for filters and statistics.
  CREATE TABLE holdfast.trajectories (
    run_id text NOT NULL,
    tenant text NOT NULL DEFAULT 'default',
    agent text NOT NULL,
    task_id text,
    tags text[] NOT NULL,
    models text[] NOT NULL,
    result text NOT NULL,
    reward double precision,
    steps integer NOT NULL,
    counts text NOT NULL,
    quality double precision,
    diversity double precision NOT NULL,
    sketch text NOT NULL,
    score_version integer NOT NULL,
    created_at timestamptz NOT NULL,
    completed_at timestamptz NOT NULL,
    PRIMARY KEY (run_id),
    CONSTRAINT trajectories_run_id_foreign FOREIGN KEY (run_id) REFERENCES holdfast.runs(id) ON DELETE CASCADE
  );
  CREATE INDEX trajectories_models_index ON holdfast.trajectories USING gin (models);
  CREATE INDEX trajectories_tags_index ON holdfast.trajectories USING gin (tags);
  CREATE INDEX trajectories_tenant_agent_created_at_run_id_index
    ON holdfast.trajectories (tenant, agent, created_at, run_id);
  CREATE INDEX trajectories_tenant_created_at_run_id_index ON holdfast.trajectories (tenant, created_at, run_id);
  CREATE INDEX trajectories_tenant_result_created_at_run_id_index
    ON holdfast.trajectories (tenant, result, created_at, run_id);
  CREATE INDEX trajectories_tenant_reward_index ON holdfast.trajectories (tenant, reward);
  CREATE INDEX trajectories_tenant_task_id_created_at_run_id_index
    ON holdfast.trajectories (tenant, task_id, created_at, run_id);

  -- Ended runs that the index lacks. Written in the transaction that ends the run.
  CREATE TABLE holdfast.trajectories_due (
    run_id text NOT NULL,
    tenant text NOT NULL DEFAULT 'default',
    tries integer NOT NULL DEFAULT 0,
    due_at timestamptz NOT NULL DEFAULT current_timestamp,
    PRIMARY KEY (run_id),
    CONSTRAINT trajectories_due_run_id_foreign FOREIGN KEY (run_id)
      REFERENCES holdfast.runs(id) ON DELETE CASCADE
  );
  CREATE INDEX trajectories_due_due_at_run_id_index ON holdfast.trajectories_due (due_at, run_id);
  CREATE INDEX trajectories_due_tenant_due_at_index ON holdfast.trajectories_due (tenant, due_at);
`;
