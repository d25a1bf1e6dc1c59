import type { Knex } from 'knex';
import { OVERVIEW_MOST, OVERVIEW_NAMES } from '../../core/ops/overview.js';
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
