import type { Knex } from 'knex';
import { type Attempted, type PassFilter, RATED_TASKS_MOST } from '../../core/tasks/pass-rates.js';
import { whereSame } from './same-columns.js';

/** How many attempts each agent made at each definition and how many passed, by agents; at most one row more than is shown. */
export async function attemptedRows(
  db: Knex,
  tenant: string,
  { dataset, from, to, ...same }: PassFilter,
): Promise<readonly Attempted[]> {
  const query = db('holdfast.tasks as t').where({ 't.tenant': tenant }).whereNot({ 't.result_type': 'error' });
  whereSame(query, 't', same);
  if (from !== undefined) query.where('t.created_at', '>=', from);
  if (to !== undefined) query.where('t.created_at', '<', to);
  if (dataset !== undefined) {
    const [name = '', version = ''] = dataset.split('@');
    query.whereIn(
      't.definition_hash',
      db('holdfast.dataset_tasks').select('hash').where({ tenant, dataset: name, dataset_version: version }),
    );
  }
  return query
    .groupBy('t.agent', 't.definition_hash')
    .orderBy(['t.agent', 't.definition_hash'])
    .limit(RATED_TASKS_MOST + 1)
    .select('t.agent', db.raw('count(*)::int as attempts'))
    .select(db.raw(`(count(*) filter (where t.result_type = 'success'))::int as passed`));
}
