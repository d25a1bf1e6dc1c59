import type { Knex } from 'knex';
import { z } from 'zod';
import { RUN_STATUSES } from '../../core/runs/run.js';
import { inOneFlight } from '../database/transactions.js';
import { deadSql } from '../tasks/tasks.js';

/** What is going on in the whole database, as numbers. */
const counts = z.record(z.string(), z.number());
const shape = z.object({
  runs: counts,
  interruptions: counts,
  workers: counts,
  environments: counts,
  containers: z.number(),
  queued: z.number(),
  waited: z.number(),
  undone: z.number(),
  tasks: z.number(),
  dead: z.number(),
});
export type Measures = z.infer<typeof shape>;

/** A look that takes longer is given up: what it looks at is too large, or the database has other things to do. */
const TIMEOUT = `set local statement_timeout = '3s'`;
/** Rows of one kind are counted no further than this. */
const MOST = 1_000_000;

const counted = (rows: string): string =>
  `coalesce((select json_object_agg(name, n) from (select name, count(*)::int as n from (${rows} limit ${MOST}) r group by 1) g), '{}')`;
const ALIVE = RUN_STATUSES.slice(0, 3);

/** Tenants, each by a step in an index: those that are over are many more than those that are counted. */
const TENANTS = `
  with recursive tenants as (
    (select min(tenant) as tenant from holdfast.runs)
    union all
    select (select min(r.tenant) from holdfast.runs r where r.tenant > t.tenant) from tenants t where t.tenant is not null)`;
const ofTenants = (table: string, column: string): string =>
  `from tenants t join holdfast.${table} r on r.tenant = t.tenant where ${column}`;

const MEASURES = `${TENANTS}
  select json_build_object(
    'runs', ${counted(`select r.status as name ${ofTenants('runs', 'r.status = any(:alive)')}`)},
    'interruptions', ${counted(`select r.kind as name ${ofTenants('interruptions', "r.status = 'pending'")}`)},
    'workers', ${counted(`select coalesce(told_status, 'working') as name from holdfast.workers`)},
    'environments', ${counted(`select state as name from holdfast.environments where state <> 'gone'`)},
    'containers', (select count(*)::int from holdfast.environments where state = 'up' and run_id = any(:here)),
    'tasks', (select count(*)::int from (select ${ofTenants('tasks', "r.status = 'open'")} limit ${MOST}) r),
    'dead', (select count(*)::int from (select ${ofTenants('tasks', deadSql('r'))} limit ${MOST}) r),
    'queued', q.n, 'waited', coalesce(greatest(0, extract(epoch from clock_timestamp()) - q.oldest / 1000.0), 0),
    'undone', (select count(*)::int from holdfast.trajectories_due)) as measures
    from (select count(*)::int as n, min(created_at) as oldest
            from (select created_at from dbos.workflow_status where queue_name = :queue and status = 'ENQUEUED' limit ${MOST}) s) q`;

/** `here`: runs that work in this process. */
export async function readMeasures(
  db: Knex,
  { queue, here }: { readonly queue: string; readonly here: readonly string[] },
): Promise<Measures> {
  return db.transaction(async (trx) => {
    const look = trx.raw(MEASURES, { queue, here: [...here], alive: [...ALIVE] });
    const [, [row]] = await inOneFlight<[object, { measures: unknown }]>(trx, [trx.raw(TIMEOUT), look]);
    return shape.parse(row?.measures);
  });
}
