import type { Knex } from 'knex';
import type { Integrity } from '../../core/integrity/integrity.js';
import type { RewardView } from '../../core/tasks/reward.js';
import { type TrajectorySummary, trajectoryRunOf } from '../../core/trajectories/trajectory.js';
import { asksForEnded, type TrajectoryFilter } from '../../core/trajectories/trajectory-filter.js';
import { trajectoryCounts } from '../../core/trajectories/trajectory-score.js';
import type { PageRows } from '../runs/page-rows.js';
import { lightRunColumns } from '../runs/run-columns.js';
import { newestFirst, type Placed } from '../runs/run-list.js';
import type { RunRow } from '../runs/run-row.js';
import { runFactsOf } from './read-trajectory.js';
import type { TrajectoryRow } from './trajectories.js';

type Read = Pick<TrajectoryRow, 'models' | 'steps' | 'counts' | 'quality' | 'diversity' | 'score_version'>;

/** A run, and what its log says of it; null: it was not read yet. */
export type ListedRow = Placed<RunRow> & { readonly [C in keyof Read]: Read[C] | null };

/**
 * A page of runs by the time of their creation, newest first, and one more row when there is a next page. What only the log of
 * a run that is over says is answered from the rows of those, in their order; everything else from the runs.
 */
export async function listTrajectoryRows(
  db: Knex,
  tenant: string,
  filter: TrajectoryFilter,
  page: { readonly limit: number; readonly cursor?: string },
): Promise<PageRows<ListedRow>> {
  const by = asksForEnded(filter) ? { table: 't', id: 't.run_id' } : { table: 'r', id: 'r.id' };
  const query = db('holdfast.runs as r')
    [asksForEnded(filter) ? 'join' : 'leftJoin']('holdfast.trajectories as t', 't.run_id', 'r.id')
    .where({ [`${by.table}.tenant`]: tenant })
    .select(lightRunColumns(db, 'r'))
    .select('t.models', 't.steps', 't.counts', 't.quality', 't.diversity', 't.score_version');
  narrow(query, filter, by.table);
  const at = `${by.table}.created_at`;
  return newestFirst(db, query, page, { at, id: by.id, bytes: ROW_BYTES });
}

const ROW_BYTES = `octet_length(r.metadata) + coalesce(octet_length(r.error), 0)`;

function narrow(query: Knex.QueryBuilder, filter: TrajectoryFilter, table: string): void {
  const { result, status, agent, model, task, tag, minReward, maxReward, from, to } = filter;
  if (status !== undefined) query.where({ 'r.status': status });
  if (agent !== undefined) query.where({ [`${table}.agent`]: agent });
  if (from !== undefined) query.whereRaw(`${table}.created_at >= ?::timestamptz`, [from]);
  if (to !== undefined) query.whereRaw(`${table}.created_at < ?::timestamptz`, [to]);
  if (result !== undefined) query.where({ 't.result': result });
  if (task !== undefined) query.where({ 't.task_id': task });
  if (model !== undefined) query.whereRaw('t.models @> array[?]::text[]', [model]);
  if (tag !== undefined) query.whereRaw('t.tags @> array[?]::text[]', [tag]);
  if (minReward !== undefined) query.where('t.reward', '>=', minReward);
  if (maxReward !== undefined) query.where('t.reward', '<=', maxReward);
}

export const summaryOf = (row: ListedRow, reward: RewardView | null, integrity: Integrity): TrajectorySummary => ({
  ...trajectoryRunOf(runFactsOf(row, reward)),
  model: row.models?.[0] ?? null,
  models: row.models ?? [],
  totalSteps: row.steps,
  counts: row.counts === null ? null : trajectoryCounts.parse(JSON.parse(row.counts)),
  qualityScore: row.quality,
  diversityScore: row.diversity,
  scoreVersion: row.score_version,
  integrity,
});
