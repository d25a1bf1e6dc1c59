import type { Knex } from 'knex';
import { type Summary, summary } from '../../core/ops/stats.js';
import { OVER, RUN_STATUSES } from '../../core/runs/run.js';
import { DIFFICULTIES } from '../../core/tasks/task-definition.js';
import { BROKEN, TRAJECTORY_RESULTS } from '../../core/trajectories/trajectory-result.js';
import { inOneFlight } from '../database/transactions.js';

/** A look that takes longer is given up: there is too much to look at, or the database has other things to do. */
const TIMEOUT = `set local statement_timeout = '3s'`;
/** Tasks, and runs that ended, are counted no further than this, the newest first. */
const MOST = 1_000_000;
const MOST_CATEGORIES = 100;

const counted = (column: string, only = ''): string =>
  `coalesce((select json_object_agg(name, n) from (
     select ${column} as name, count(*)::int as n from t where ${column} is not null group by 1 order by n desc, 1 ${only}) g), '{}')`;
const ended = (rows: string): string =>
  `(select json_build_object('lastHour', count(*) filter (where completed_at > now() - interval '1 hour'),
     'lastDay', count(*)) from (${rows}) e)`;

/** Runs that are over are many more than those of a day, which an index has. */
const SUMMARY = `
  with t as materialized (
    select case when k.status <> 'open' then k.status when r.status = any(:over) then 'queued' else r.status end as status,
           k.category, k.difficulty, k.result_type, k.result, k.reward, k.verification_passed, k.completed_at
      from (select * from holdfast.tasks where tenant = :tenant order by created_at desc, id desc limit ${MOST}) k
      left join holdfast.runs r on k.status = 'open' and r.id = k.run_id)
  select json_build_object(
    'tasks', json_build_object(
      'total', (select count(*) from t),
      'byStatus', ${counted('status')},
      'byCategory', ${counted('category', `limit ${MOST_CATEGORIES}`)},
      'byDifficulty', ${counted('difficulty')},
      'byResult', ${counted('result_type')},
      'brokenByAgent', (select count(*)::int from t where result_type = 'failure' and result like :broken),
      'meanReward', (select avg(coalesce(reward, 0)) from t where status in ('completed', 'failed')),
      'passRate', (select avg(coalesce(verification_passed, false)::int)::float8 from t
        where status in ('completed', 'failed'))),
    'throughput', json_build_object(
      'runs', ${ended(`select completed_at from holdfast.runs where status = any(:over)
        and completed_at > now() - interval '1 day' and tenant = :tenant order by completed_at desc limit ${MOST}`)},
      'tasks', ${ended(`select completed_at from t where completed_at > now() - interval '1 day'`)})) as summary`;

/** A result as it is kept, in canonical JSON, whose reason begins so. */
const BROKEN_RESULT = `{"reason":"${BROKEN.replaceAll('_', '\\_')}:%`;

const zeros = (names: readonly string[]): Record<string, number> => Object.fromEntries(names.map((name) => [name, 0]));

/** What has become of the tasks of a tenant, and how much of its work ended lately. A look that takes seconds fails. */
export async function readSummary(db: Knex, tenant: string): Promise<Summary> {
  return db.transaction(async (trx) => {
    const look = trx.raw(SUMMARY, { tenant, over: [...OVER], broken: BROKEN_RESULT });
    const [, [row]] = await inOneFlight<[object, { summary: unknown }]>(trx, [trx.raw(TIMEOUT), look]);
    return summary.parse(withZeros(row?.summary));
  });
}

/** What nothing has is said, too. */
function withZeros(found: unknown): unknown {
  const { tasks, throughput } = Object(found) as {
    readonly tasks: Record<string, object>;
    readonly throughput: unknown;
  };
  const all = { byStatus: RUN_STATUSES, byDifficulty: DIFFICULTIES, byResult: TRAJECTORY_RESULTS };
  const filled = Object.entries(all).map(([name, names]) => [name, { ...zeros(names), ...tasks[name] }]);
  return { tasks: { ...tasks, ...Object.fromEntries(filled) }, throughput };
}
