import type { Knex } from 'knex';
import { SERIES_ROWS, type SeriesName } from '../../core/ops/overview.js';

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
