import type { Knex } from 'knex';
import { RUN_STATUSES, type RunStatus } from '../../core/runs/run.js';
import { COUNTED_MOST, FAMILY_MOST } from '../../core/runs/run-counts.js';
import { ERROR_CODE, type RunFilter, withFilter } from './run-list.js';
import { runs } from './runs.js';

const NAMED_MOST = 20;

interface ByError {
  readonly name: string;
  readonly count: number;
  readonly lastAt: Date;
  readonly runId: string;
}

/** So many runs that fit have each status; counting stops. */
export async function countByStatus(
  db: Knex,
  filter: RunFilter,
): Promise<{ readonly counts: Record<RunStatus, number>; readonly atLeast: boolean }> {
  const wanted = RUN_STATUSES.filter((status) => filter.status === undefined || filter.status === status);
  const each = wanted.map((status) => {
    const fitting = withFilter(db, runs(db), { ...filter, status })
      .limit(COUNTED_MOST + 1)
      .select(db.raw('1'));
    return db.raw('(select count(*)::int from ? fitting) as ??', [fitting, status]);
  });
  const [row = {}]: Partial<Record<RunStatus, number>>[] = await db.select(each);
  const found = RUN_STATUSES.map((status) => [status, row[status] ?? 0] as const);
  const counts = found.map(([status, n]) => [status, Math.min(n, COUNTED_MOST)] as const);
  return {
    counts: Object.fromEntries(counts) as Record<RunStatus, number>,
    atLeast: found.some(([, n]) => n > COUNTED_MOST),
  };
}

/** The codes of the newest failed runs that fit, the most frequent first. */
export async function countByError(db: Knex, filter: RunFilter): Promise<ByError[]> {
  const failed = withFilter(db, runs(db), { ...filter, status: 'failed' })
    .orderBy([
      { column: 'created_at', order: 'desc' },
      { column: 'id', order: 'desc' },
    ])
    .limit(COUNTED_MOST)
    .select('id', 'created_at', db.raw(`${ERROR_CODE} as name`));
  const { rows }: { rows: ByError[] } = await db.raw(
    `select name, count(*)::int as count, max(created_at) as "lastAt",
            (array_agg(id order by created_at desc, id desc))[1] as "runId"
       from ? failed where name is not null group by name order by 2 desc, name limit ${NAMED_MOST}`,
    [failed],
  );
  return rows;
}

/** How many ended in each hour of the last day, oldest first; hours without any are left out. */
export async function countByHour(
  db: Knex,
  filter: RunFilter,
): Promise<{ readonly at: Date; readonly ended: number; readonly failed: number }[]> {
  const ended = withFilter(db, runs(db), filter)
    .whereRaw(`completed_at between now() - interval '24 hours' and now()`)
    // Runs that began long before and ended now are few: they are looked for among those that began in the last days.
    .whereRaw(`created_at > now() - interval '8 days'`)
    .orderBy('created_at', 'desc')
    .limit(COUNTED_MOST)
    .select('completed_at', 'status');
  const { rows }: { rows: { at: Date; ended: number; failed: number }[] } = await db.raw(
    `select date_trunc('hour', completed_at) as at, count(*)::int as ended,
            (count(*) filter (where status = 'failed'))::int as failed
       from ? ended group by 1 order by 1`,
    [ended],
  );
  return rows;
}

export interface FamilyRow {
  readonly id: string;
  readonly parent_run_id: string | null;
  readonly parent_call_id: string | null;
  readonly forked_from_run_id: string | null;
  readonly forked_from_seq: number | null;
  readonly agent: string;
  readonly status: RunStatus;
  readonly created_at: Date;
  readonly completed_at: Date | null;
}

/** A run, those above and below it, and forks of any of them, as far as they are of the tenant: one more than is shown at most. */
export async function familyOf(db: Knex, tenant: string, id: string): Promise<FamilyRow[]> {
  const { rows }: { rows: FamilyRow[] } = await db.raw(
    `with recursive
       above as (
         select id, parent_run_id, forked_from_run_id from holdfast.runs where id = :id and tenant = :tenant
         union select r.id, r.parent_run_id, r.forked_from_run_id from holdfast.runs r
           join above a on r.id in (a.parent_run_id, a.forked_from_run_id) where r.tenant = :tenant),
       family as (
         select id from above
         union select r.id from holdfast.runs r
           join family f on r.parent_run_id = f.id or r.forked_from_run_id = f.id where r.tenant = :tenant)
     select r.id, parent_run_id, parent_call_id, forked_from_run_id, forked_from_seq, agent, status, created_at, completed_at
       from (select id from family limit :most) f join holdfast.runs r on r.id = f.id order by created_at, r.id`,
    { id, tenant, most: FAMILY_MOST + 1 },
  );
  return rows;
}
