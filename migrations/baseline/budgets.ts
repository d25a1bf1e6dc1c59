/** What model calls cost, and what is left of each budget. */
export const BUDGETS = `
  -- Cost of each attempt to get an answer from a model. A charge outlives its run.
  CREATE TABLE holdfast.charges (
    run_id text NOT NULL,
    turn integer NOT NULL,
    execution text NOT NULL,
    attempt integer NOT NULL,
    tenant text NOT NULL DEFAULT 'default',
    agent text NOT NULL,
    model text NOT NULL,
    input_tokens bigint,
    cached_input_tokens bigint,
    cache_write_tokens bigint,
    output_tokens bigint,
    reasoning_tokens bigint,
    nano_usd bigint,
    price_source text,
    price_version text,
    state text NOT NULL,
    day text NOT NULL DEFAULT to_char(now() AT TIME ZONE 'UTC', 'YYYY-MM-DD'),
    charged_at timestamptz NOT NULL DEFAULT current_timestamp,
    reserved_nano_usd bigint,
    budgets text,
    PRIMARY KEY (run_id, turn, execution, attempt)
  );
  CREATE INDEX charges_tenant_day_index ON holdfast.charges (tenant, day);

  -- Amount spent and reserved per budget.
  CREATE TABLE holdfast.budgets (
    id text NOT NULL,
    tenant text NOT NULL DEFAULT 'default',
    scope text NOT NULL,
    name text NOT NULL,
    day text,
    nano_usd bigint NOT NULL DEFAULT '0',
    limit_nano_usd bigint,
    PRIMARY KEY (id)
  );
`;
