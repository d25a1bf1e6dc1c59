import type { Knex } from 'knex';
import { jsonOrNull } from '../../core/json.js';
import { OVER, RUN_STATUSES, type RunStatus } from '../../core/runs/run.js';
import { BATCH_COUNTED_MOST, REWARD_BARS } from '../../core/tasks/batch.js';
import {
  TRAJECTORY_RESULTS,
  type TrajectoryResult,
  trajectoryResult,
} from '../../core/trajectories/trajectory-result.js';
import type { PageRows } from '../runs/page-rows.js';
import { newestFirst, type Placed } from '../runs/run-list.js';

/** A row of `holdfast.batches` as the driver gives it. */
interface BatchRow {
  tenant: string;
  key: string;
  actor: string;
  submitted_at: Date;
  lines: number | null;
  refused: number | null;
}

export type ListedBatch = Placed<BatchRow & { readonly id: string }>;

const batches = (db: Knex) => db<BatchRow>('holdfast.batches');

/** Keeps a batch once, before tasks of it, and holds it until the transaction ends. */
export async function keepBatch(
  trx: Knex.Transaction,
  batch: Pick<BatchRow, 'tenant' | 'key' | 'actor'>,
): Promise<void> {
  await trx.raw(
    `insert into holdfast.batches as b (tenant, key, actor) values (:tenant, :key, :actor)
         on conflict (tenant, key) do update set actor = b.actor`,
    batch,
  );
}

/** Says of a batch that a request was read whole. */
export async function endBatch(
  db: Knex,
  { tenant, key, ...counts }: Pick<BatchRow, 'tenant' | 'key' | 'lines' | 'refused'>,
): Promise<void> {
  await batches(db).where({ tenant, key }).update(counts);
}

export const findBatch = (db: Knex, tenant: string, key: string): Promise<BatchRow | undefined> =>
  batches(db).where({ tenant, key }).first();

/** A page of batches, newest first. */
export const listBatchRows = (
  db: Knex,
  tenant: string,
  page: { readonly limit: number; readonly cursor?: string },
): Promise<PageRows<ListedBatch>> =>
  newestFirst(db, batches(db).where({ tenant }).select('*', { id: 'key' }), page, {
    ...{ at: 'submitted_at', id: 'key', bytes: 'octet_length(key)' },
  });

/** Removes batches without a task, the oldest first. Gives how many went. */
export async function removeEmptyBatches(
  db: Knex,
  { tenant, limit }: { readonly tenant: string | null; readonly limit: number },
): Promise<number> {
  const { rowCount }: { rowCount: number } = await db.raw(
    `delete from holdfast.batches where (tenant, key) in (
       select tenant, key from holdfast.batches b
        where submitted_at < now() - interval '1 day' and (:tenant::text is null or tenant = :tenant)
          and not exists (select from holdfast.tasks t where t.tenant = b.tenant and t.batch = b.key)
        order by submitted_at limit :limit)`,
    { tenant, limit },
  );
  return rowCount;
}

export interface BatchCounts {
  readonly key: string;
  readonly tasks: number;
  readonly open: number;
  readonly completed: number;
  readonly failed: number;
  readonly cancelled: number;
  readonly passed: number;
  readonly mean_reward: number | null;
}

const ENDED = `status in ('completed', 'failed')`;

/** How the tasks of each of several batches stand, by the index alone; each is counted no further than a bound. */
export async function countBatches(
  db: Knex,
  tenant: string,
  keys: readonly string[],
): Promise<ReadonlyMap<string, BatchCounts>> {
  const states = ['open', 'completed', 'failed', 'cancelled'];
  const counted = states.map((state) => `count(*) filter (where status = '${state}')::int as ${state}`).join(', ');
  const { rows }: { rows: BatchCounts[] } = await db.raw(
    `select b.key, c.* from unnest(:keys::text[]) b(key), lateral (
       select least(count(*), ${BATCH_COUNTED_MOST + 1})::int as tasks, ${counted},
              count(*) filter (where ${ENDED} and verification_passed)::int as passed,
              avg(coalesce(reward, 0)) filter (where ${ENDED}) as mean_reward
         from (select status, verification_passed, reward from holdfast.tasks
                where tenant = :tenant and batch = b.key order by created_at, id limit ${BATCH_COUNTED_MOST + 1}) t) c`,
    { tenant, keys: [...keys] },
  );
  return new Map(rows.map((row) => [row.key, row]));
}

const TASKS_OF_BATCH = `select * from holdfast.tasks where tenant = :tenant and batch = :key
  order by created_at, id limit ${BATCH_COUNTED_MOST}`;
const FAILURES_LOOKED_AT = 2000;

interface BatchFacts {
  readonly by_status: Partial<Record<RunStatus, number>>;
  readonly by_result: Partial<Record<TrajectoryResult['type'], number>>;
  readonly rewards: Readonly<Record<string, number>>;
  readonly nano_usd: string;
  readonly unpriced: number;
  readonly ended_last_hour: number;
}

const FACTS = `
  with t as materialized (${TASKS_OF_BATCH}),
  grouped(what, name, n) as (
    select 'status', case when t.status <> 'open' then t.status when r.status = any(:over) then 'queued' else r.status end, count(*)
      from t left join holdfast.runs r on t.status = 'open' and r.id = t.run_id group by 2
    union all select 'result', result_type, count(*) from t where result_type is not null group by 2
    union all select 'reward', least(${REWARD_BARS - 1}, greatest(0, floor(reward * ${REWARD_BARS})))::text, count(*)
      from t where reward is not null group by 2),
  cost as (
    select coalesce(sum(r.cost_nano_usd + r.child_cost_nano_usd), 0)::text as nano_usd,
           count(*) filter (where r.cost_nano_usd + r.child_cost_nano_usd is null)::int as unpriced
      from t join holdfast.runs r on r.task_id = t.id)
  select coalesce((select json_object_agg(name, n) from grouped where what = 'status'), '{}') as by_status,
         coalesce((select json_object_agg(name, n) from grouped where what = 'result'), '{}') as by_result,
         coalesce((select json_object_agg(name, n) from grouped where what = 'reward'), '{}') as rewards,
         (select count(*)::int from t where completed_at > now() - interval '1 hour') as ended_last_hour,
         cost.* from cost`;

const everyOf = <Name extends string>(names: readonly Name[], found: Partial<Record<Name, number>>) =>
  Object.fromEntries(names.map((name) => [name, found[name] ?? 0])) as Record<Name, number>;

/** What became of the tasks of a batch. */
export async function factsOfBatch(db: Knex, tenant: string, key: string) {
  const { rows }: { rows: BatchFacts[] } = await db.raw(FACTS, { tenant, key, over: [...OVER] });
  const [row] = rows;
  if (row === undefined) throw new Error('A sum has a row.');
  return {
    byStatus: everyOf(RUN_STATUSES, row.by_status),
    byResult: everyOf(TRAJECTORY_RESULTS, row.by_result),
    rewards: Array.from({ length: REWARD_BARS }, (_, at) => row.rewards[at] ?? 0),
    ...{ nanoUsd: row.nano_usd, unpriced: row.unpriced, endedLastHour: row.ended_last_hour },
  };
}

/** How the newest tasks of a batch ended that did not succeed. What cannot be read is left out. */
export async function unsuccessfulOf(
  db: Knex,
  tenant: string,
  key: string,
): Promise<readonly { readonly id: string; readonly result: TrajectoryResult }[]> {
  const rows: { id: string; result: string }[] = await db('holdfast.tasks')
    .where({ tenant, batch: key })
    .whereNotNull('result')
    .whereNot({ result_type: 'success' })
    .orderBy(['created_at', 'id'].map((column) => ({ column, order: 'desc' as const })))
    .limit(FAILURES_LOOKED_AT)
    .select('id', db.raw('left(result, 100000) as result'));
  return rows.flatMap(({ id, result }) => {
    const read = trajectoryResult.safeParse(jsonOrNull(result));
    return read.success ? [{ id, result: read.data }] : [];
  });
}

/** Open tasks of a batch that no one has asked to stop, the oldest first: some of them, and how many there are. */
export async function tasksToCancel(
  db: Knex,
  { tenant, key, limit }: { readonly tenant: string; readonly key: string; readonly limit: number },
): Promise<{ readonly ids: readonly string[]; readonly left: number }> {
  const open = db('holdfast.tasks as t')
    .join('holdfast.runs as r', 'r.id', 't.run_id')
    .where({ 't.tenant': tenant, 't.batch': key, 't.status': 'open' })
    .where((asked) => asked.whereNull('r.cancel_requested_at').orWhereIn('r.status', [...OVER]))
    .orderBy(['t.created_at', 't.id'])
    .limit(BATCH_COUNTED_MOST)
    .pluck('t.id');
  const ids: string[] = await open;
  return { ids: ids.slice(0, limit), left: Math.max(0, ids.length - limit) };
}
