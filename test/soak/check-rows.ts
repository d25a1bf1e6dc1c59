import type { Database } from '../../src/storage/database/database.js';

type Knex = Database['knex'];

const OVER = `('completed', 'failed', 'cancelled')`;
/** As docs/operate/postgres.md has it. */
const CONNECTIONS_OF_PROCESS = 33;

/** Each counts what must not be there when every run is over. */
const LEFTOVERS: Readonly<Record<string, string>> = {
  'runs that are not over': `select 1 from holdfast.runs where status not in ${OVER}`,
  'segments that wait or work': `select 1 from dbos.workflow_status where status in ('PENDING', 'ENQUEUED', 'DELAYED')`,
  'segments without a run': `select 1 from dbos.workflow_status s where not exists
    (select 1 from holdfast.runs r where r.id = split_part(s.workflow_uuid, ':', 1))`,
  'undecided interruptions': `select 1 from holdfast.interruptions where status = 'pending'`,
  timers: 'select 1 from holdfast.timers',
  'sessions with a run inside': 'select 1 from holdfast.sessions where run_id is not null',
  'events of the world that no one took': `select 1 from holdfast.emitted_events where status = 'kept'
    and not exists (select 1 from holdfast.runs where status = 'cancelled')`,
  'sessions with a gap': `select 1 from holdfast.sessions s where s.items <>
    (select coalesce(max(seq), 0) from holdfast.session_items i where i.tenant = s.tenant and i.session_id = s.id)`,
  'heads that are not their log': `select 1 from holdfast.run_heads h where h.seq <>
    (select count(*) from holdfast.events e where e.run_id = h.run_id)`,
  'runs without a head': `select 1 from holdfast.runs r where not exists
    (select 1 from holdfast.run_heads h where h.run_id = r.id)`,
  'messages of DBOS': 'select 1 from dbos.notifications',
  'streams of DBOS': 'select 1 from dbos.streams',
  'events of DBOS': 'select 1 from dbos.workflow_events',
  'workers that execute something': 'select 1 from holdfast.workers where running > 0 or alone_run_id is not null',
  'transactions that no one ends': `select 1 from pg_stat_activity where datname = current_database()
    and state like 'idle in transaction%' and state_change < now() - interval '2 seconds'`,
  'locks that are waited for': 'select 1 from pg_locks where not granted',
};

/** Nothing is left behind in the database, and its connections are those of living processes. */
export async function checkRows(knex: Knex, processes: number): Promise<string[]> {
  const wrong: string[] = [];
  for (const [what, sql] of Object.entries(LEFTOVERS)) {
    const found = await count(knex, sql);
    if (found > 0) wrong.push(`${what}: ${found}`);
  }
  const held = await count(
    knex,
    `select 1 from pg_locks where locktype = 'advisory' and granted
        and database = (select oid from pg_database where datname = current_database())`,
  );
  if (held !== processes) wrong.push(`${held} locks of workers are held by ${processes} processes`);
  const open = await connectionsOf(knex);
  if (open > processes * CONNECTIONS_OF_PROCESS) wrong.push(`${processes} processes have ${open} connections`);
  return wrong;
}

/** Those of others than this one. */
export const connectionsOf = (knex: Knex): Promise<number> =>
  count(
    knex,
    `select 1 from pg_stat_activity where datname = current_database() and backend_type = 'client backend'
        and application_name <> current_setting('application_name')`,
  );

async function count(knex: Knex, sql: string): Promise<number> {
  const { rows } = await knex.raw(`select count(*)::int as n from (${sql}) as found`);
  return rows[0].n;
}

/** What stands still: segments that are not over and who has them, and what the server is asked at this moment. */
export async function standing(knex: Knex): Promise<string[]> {
  const { rows: segments } = await knex.raw(
    `select s.workflow_uuid, s.status, s.executor_id, s.recovery_attempts, s.updated_at, w.status as worker
       from dbos.workflow_status s
       left join (select id, concat(epoch, ' ', running, ' ', stopped_at) as status from holdfast.workers) w on w.id = s.executor_id
      where s.status in ('PENDING', 'ENQUEUED', 'DELAYED')`,
  );
  const { rows: sessions } = await knex.raw(
    `select state, wait_event_type, age(now(), state_change)::text as since, left(query, 120) as query
       from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()`,
  );
  return [...segments, ...sessions].map((row) => JSON.stringify(row));
}
