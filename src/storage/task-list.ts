import type { Knex } from 'knex';
import { OVER } from '../core/run.js';
import type { TaskFilter } from '../core/task.js';
import { decodeCursor, placeBy } from './run-list.js';
import { deadSql, type SeenTask, seenTasks } from './tasks.js';

/** A page of tasks, newest first, and one more row when there is a next page. */
export async function listTaskRows(
  db: Knex,
  tenant: string,
  filter: TaskFilter,
  page: { readonly limit: number; readonly cursor?: string },
): Promise<(SeenTask & { readonly place: string })[]> {
  const query: Knex.QueryBuilder = seenTasks(db)
    .where({ 't.tenant': tenant })
    .orderBy([
      { column: 't.created_at', order: 'desc' },
      { column: 't.id', order: 'desc' },
    ])
    .limit(page.limit + 1)
    .select(placeBy(db, 't.created_at'));
  narrow(query, filter);
  if (page.cursor !== undefined) {
    const { at, id } = decodeCursor(page.cursor);
    query.whereRaw('(t.created_at, t.id) < (?::timestamptz, ?)', [at, id]);
  }
  return query;
}

function narrow(query: Knex.QueryBuilder, { status, tag, result, dead, ...same }: TaskFilter): void {
  for (const [column, value] of Object.entries(same)) if (value !== undefined) query.where({ [`t.${column}`]: value });
  if (tag !== undefined) query.whereRaw('t.tags @> array[?]::text[]', [tag]);
  if (result !== undefined) query.where({ 't.result_type': result });
  if (dead !== undefined) query.whereRaw(deadSql('t'));
  if (status === undefined) return;
  if (OVER.has(status)) query.where({ 't.status': status });
  else query.where({ 't.status': 'open' }).whereIn('r.status', status === 'queued' ? ['queued', ...OVER] : [status]);
}
