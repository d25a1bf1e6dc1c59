import type { Knex } from 'knex';
import { OVERVIEW_MOST, OVERVIEW_NAMES, SERIES_ROWS, type SeriesName } from '../../core/ops/overview.js';
import { ERROR_CODE } from '../runs/run-list.js';

interface WaitingRow {
  readonly name: string | null;
  readonly queued: number;
  readonly running: number;
  readonly oldest: Date | null;
}

export interface QueueRows {
  readonly total: WaitingRow & { readonly rows: number };
  readonly byAgent: readonly (WaitingRow & { readonly limit: number | null })[];
  readonly bySession: readonly WaitingRow[];
  readonly tenantLimit: number | null;
}

/** What a run that is at work counts for. */
const COUNTS = `count(*) filter (where status = 'queued')::int as queued,
  count(*) filter (where status = 'running')::int as running, min(updated_at) filter (where status = 'queued') as oldest`;

/** The runs of a tenant that are in the queue or at work. */
export async function queueRows(trx: Knex.Transaction, tenant: string): Promise<QueueRows> {
  const work = `(select agent, session_id, status, updated_at from holdfast.runs
    where tenant = :tenant and status in ('queued', 'running') order by updated_at limit ${OVERVIEW_MOST + 1}) w`;
  const { rows: totals }: { rows: QueueRows['total'][] } = await trx.raw(
    `select null as name, count(*)::int as rows, ${COUNTS} from ${work}`,
    { tenant },
  );
  const { rows: byAgent }: { rows: QueueRows['byAgent'] } = await trx.raw(
    `select a.*, (select concurrency from holdfast.dispatch_limits l where l.kind = 'agent' and l.name = a.name) as limit
       from (select agent as name, ${COUNTS} from ${work} group by agent
              order by 2 desc, 3 desc, 1 limit ${OVERVIEW_NAMES}) a order by queued desc, running desc, name`,
    { tenant },
  );
  const { rows: bySession }: { rows: WaitingRow[] } = await trx.raw(
    `select session_id as name, ${COUNTS} from ${work} where session_id is not null group by session_id
      order by 2 desc, 3 desc, 1 limit ${OVERVIEW_NAMES}`,
    { tenant },
  );
  const { rows: limits }: { rows: { concurrency: number | null }[] } = await trx.raw(
    `select concurrency from holdfast.dispatch_limits where kind = 'tenant' and name = :tenant or kind = 'tenants'
      order by kind limit 1`,
    { tenant },
  );
  const [total = { name: null, rows: 0, queued: 0, running: 0, oldest: null }] = totals;
  return { total, byAgent, bySession, tenantLimit: limits[0]?.concurrency ?? null };
}

export interface ErrorRow {
  readonly code: string;
  readonly count: number;
  readonly first: Date;
  readonly last: Date;
  readonly run_id: string;
  readonly message: string;
  readonly agents: readonly { readonly name: string; readonly count: number }[];
  readonly rows: number;
}

/** What runs of a tenant failed with between two times, by code. */
export async function errorRows(
  db: Knex,
  { tenant, from, to }: { readonly tenant: string; readonly from: Date; readonly to: Date },
): Promise<ErrorRow[]> {
  const { rows }: { rows: ErrorRow[] } = await db.raw(
    `with failed as (
       select id, agent, completed_at, ${ERROR_CODE} as code, error from holdfast.runs
        where tenant = :tenant and status = 'failed' and completed_at >= :from and completed_at < :to
          -- Runs that began long before and failed now are few: they are looked for among those of the days before.
          and created_at >= cast(:from as timestamptz) - interval '8 days' and created_at < :to
        order by created_at desc limit ${OVERVIEW_MOST + 1}),
     named as (select code, agent, count(*)::int as count from failed where code is not null group by code, agent),
     agents as (
       select code, json_agg(json_build_object('name', agent, 'count', count) order by count desc, agent) as agents
         from (select named.*, row_number() over (partition by code order by count desc, agent) as place from named) n
        where place <= 5 group by code),
     grouped as (
       select code, count(*)::int as count, min(completed_at) as first, max(completed_at) as last,
              (array_agg(id order by completed_at desc, id desc))[1] as run_id
         from failed where code is not null group by code order by 2 desc, 1 limit ${OVERVIEW_NAMES})
     select g.*, a.agents, coalesce(f.error::json ->> 'message', '') as message, (select count(*)::int from failed) as rows
       from grouped g join agents a on a.code = g.code join failed f on f.id = g.run_id order by g.count desc, g.code`,
    { tenant, from, to },
  );
  return rows;
}

/** What is taken from budgets, with limits that were raised, by id. */
export async function budgetRows(
  db: Knex,
  ids: readonly string[],
): Promise<ReadonlyMap<string, { readonly spent: bigint; readonly raised: bigint | null }>> {
  const rows: { id: string; nano_usd: string; limit_nano_usd: string | null }[] = await db('holdfast.budgets')
    .whereRaw('id = any(?)', [[...ids]])
    .select('id', 'nano_usd', 'limit_nano_usd');
  return new Map(
    rows.map(({ id, nano_usd: spent, limit_nano_usd: raised }) => [
      id,
      { spent: BigInt(spent), raised: raised === null ? null : BigInt(raised) },
    ]),
  );
}

/** Today in UTC, by the clock of the database, as daily budgets name it. */
export async function databaseDay(db: Knex): Promise<string> {
  const { rows }: { rows: { day: string }[] } = await db.raw(
    `select to_char(now() at time zone 'UTC', 'YYYY-MM-DD') as day`,
  );
  return rows[0]?.day ?? '';
}

export interface SeriesRow {
  readonly at: Date;
  readonly key: string;
  readonly value: number;
}

export interface SeriesRange {
  readonly tenant: string;
  readonly from: Date;
  readonly to: Date;
  readonly step: 'hour' | 'day';
}

/** What a series is made of: rows with a time, a key and a number. */
interface Source {
  readonly rows: string;
  /** How the numbers of a key in a step become one. */
  readonly value: 'sum' | 'percentiles';
}

const SETTLED = `'approved', 'rejected', 'answered', 'expired', 'cancelled'`;
const RUNS = `from holdfast.runs where tenant = :tenant and created_at >= :from and created_at < :to`;
const runs = (key: string, value: string, also = ''): string =>
  `select created_at as at, ${key} as key, ${value} as value ${RUNS} ${also} order by created_at desc`;
const charges = (key: string, value: string): string =>
  `select charged_at as at, ${key} as key, ${value} as value from holdfast.charges
    where tenant = :tenant and day >= :first and day <= :last and charged_at >= :from and charged_at < :to
      and state <> 'released' order by day desc`;
const waits = (key: string, value: string, also: string): string =>
  `select requested_at as at, ${key} as key, ${value} as value from holdfast.interruptions
    where tenant = :tenant and status in (${SETTLED}) and requested_at >= :from and requested_at < :to
      and kind in ('approval', 'question', 'budget') ${also} order by requested_at desc`;

const SOURCES: { readonly [name in SeriesName]: Source } = {
  runs: { rows: runs('status', '1'), value: 'sum' },
  runs_by_agent: { rows: runs('agent', '1'), value: 'sum' },
  run_ms: { rows: runs(`''`, 'active_ms', 'and completed_at is not null'), value: 'percentiles' },
  usd: { rows: charges('model', 'coalesce(nano_usd, 0) * 0.000000001'), value: 'sum' },
  usd_by_agent: { rows: charges('agent', 'coalesce(nano_usd, 0) * 0.000000001'), value: 'sum' },
  tokens: { rows: charges('model', 'coalesce(input_tokens, 0) + coalesce(output_tokens, 0)'), value: 'sum' },
  decisions: { rows: waits('status', '1', ''), value: 'sum' },
  decide_ms: {
    rows: waits(
      `''`,
      'extract(epoch from settled_at - requested_at) * 1000',
      `and status in ('approved', 'rejected', 'answered')`,
    ),
    value: 'percentiles',
  },
};

/** Points of a series, in no order. Percentiles have the keys `p50` and `p95`. */
export async function seriesRows(
  db: Knex,
  metric: SeriesName,
  { tenant, from, to, step }: SeriesRange,
): Promise<{ readonly rows: readonly SeriesRow[]; readonly read: number }> {
  const { rows: source, value } = SOURCES[metric];
  const read = `with read as (${source} limit ${SERIES_ROWS + 1}),
    placed as (select date_trunc('${step}', at at time zone 'UTC') at time zone 'UTC' as at, key, value from read)`;
  const points =
    value === 'sum'
      ? 'select at, key, sum(value)::float8 as value from placed group by at, key'
      : `select at, key, (p[place])::float8 as value
           from (select at, percentile_cont(array[0.5, 0.95]) within group (order by value::float8) as p
                   from placed group by at) m, (values (1, 'p50'), (2, 'p95')) k(place, key)`;
  const dayOf = (at: Date): string => at.toISOString().slice(0, 10);
  const { rows }: { rows: (SeriesRow & { read: number })[] } = await db.raw(
    `${read} select s.*, (select count(*)::int from read) as read from (${points}) s`,
    {
      ...{ tenant, from, to },
      ...(source.includes(':first') ? { first: dayOf(from), last: dayOf(to) } : {}),
    },
  );
  return { rows, read: rows[0]?.read ?? 0 };
}
