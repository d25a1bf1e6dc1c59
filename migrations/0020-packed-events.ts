import type { Knex } from 'knex';

/**
 * Keeps most events of runs that were over long ago in blocks, which take a fifth of the space. A hash is 32 bytes in them. `all_events`
 * reads events wherever they are. The first packing waits a day: workers of an older build, which read `events` alone, are gone by then.
 */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    CREATE TYPE holdfast.packed_event AS (
      seq integer, key text, v smallint, parent_id text, kind text, at text, data text, data_hash bytea, state_version integer,
      state_hash_before bytea, state_hash_after bytea, prev_hash bytea, hash bytea, worker text);

    CREATE TABLE holdfast.packed_events (
      run_id text NOT NULL,
      seq integer NOT NULL,
      tenant text NOT NULL DEFAULT 'default',
      events holdfast.packed_event[] NOT NULL,
      PRIMARY KEY (run_id, seq),
      CONSTRAINT packed_events_run_id_foreign FOREIGN KEY (run_id) REFERENCES holdfast.runs(id) ON DELETE CASCADE
    );

    CREATE TABLE holdfast.packed_to (
      status text NOT NULL,
      tenant text NOT NULL DEFAULT 'default',
      completed_at timestamptz NOT NULL,
      run_id text NOT NULL,
      PRIMARY KEY (status)
    );

    CREATE VIEW holdfast.all_events AS
      SELECT run_id, seq, tenant, key, v, parent_id, kind, at, data, data_hash, state_version, state_hash_before, state_hash_after,
             prev_hash, hash, worker
        FROM holdfast.events
      UNION ALL
      SELECT p.run_id, e.seq, p.tenant, e.key, e.v, e.parent_id, e.kind, e.at, e.data, 'hmac-sha256:' || encode(e.data_hash, 'hex'),
             e.state_version, 'sha256:' || encode(e.state_hash_before, 'hex'), 'sha256:' || encode(e.state_hash_after, 'hex'),
             'sha256:' || encode(e.prev_hash, 'hex'), 'sha256:' || encode(e.hash, 'hex'), e.worker
        FROM holdfast.packed_events p CROSS JOIN LATERAL unnest(p.events) e;
  `);
  await knex.raw("INSERT INTO holdfast.chores (name, due_at) VALUES ('pack', now() + interval '1 day')");
}
