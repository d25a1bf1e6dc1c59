import type { Knex } from 'knex';
import { OVER } from '../../core/runs/run.js';
import type { TaskFilter } from '../../core/tasks/task.js';
import { whereSame } from '../database/columns.js';
import type { PageRows } from '../runs/page-rows.js';
import { newestFirst, type Placed, whereWithin } from '../runs/run-list.js';
import { deadSql, type SeenTask, seenTasks } from './tasks.js';

/** A page of tasks, newest first. */
export async function listTaskRows(
  db: Knex,
  tenant: string,
  filter: TaskFilter,
  page: { readonly limit: number; readonly cursor?: string },
): Promise<PageRows<Placed<SeenTask>>> {
  const query: Knex.QueryBuilder = seenTasks(db).where({ 't.tenant': tenant });
  narrow(query, filter);
  return newestFirst(db, query, page, { at: 't.created_at', id: 't.id', bytes: TASK_BYTES });
}

const TASK_BYTES = 'octet_length(t.parameters) + octet_length(t.metadata) + coalesce(octet_length(t.result), 0)';

function narrow(query: Knex.QueryBuilder, filter: TaskFilter): void {
  const { status, tag, result, dead, minReward, maxReward, ...others } = filter;
  const { minQuality, maxQuality, minDiversity, maxDiversity, ...same } = others;
  whereSame(query, 't', same);
  whereWithin(query, 't.reward', minReward, maxReward);
  const scores = [minQuality, maxQuality, minDiversity, maxDiversity];
  if (scores.some((bound) => bound !== undefined))
    query.whereExists((scored) => {
      scored.from('holdfast.trajectories as s').whereRaw('s.run_id = t.run_id and s.tenant = t.tenant');
      whereWithin(scored, 's.quality', minQuality, maxQuality);
      whereWithin(scored, 's.diversity', minDiversity, maxDiversity);
    });
  if (tag !== undefined) query.whereRaw('t.tags @> array[?]::text[]', [tag]);
  if (result !== undefined) query.where({ 't.result_type': result });
  if (dead !== undefined) query.whereRaw(deadSql('t'));
  if (status === undefined) return;
  if (OVER.has(status)) query.where({ 't.status': status });
  else query.where({ 't.status': 'open' }).whereIn('r.status', status === 'queued' ? ['queued', ...OVER] : [status]);
}
