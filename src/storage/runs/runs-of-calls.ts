import type { Knex } from 'knex';
import type { RunRow } from './run-row.js';
import { runs } from './runs.js';

/** What of its run says what a call may do. */
export type RunOfCall = Pick<RunRow, 'agent' | 'grants'>;

/** That of several runs, by their ids. */
export async function runsOfCalls(db: Knex, ids: readonly string[]): Promise<ReadonlyMap<string, RunOfCall>> {
  if (ids.length === 0) return new Map();
  const rows = await runs(db).whereIn('id', ids).select('id', 'agent', 'grants');
  return new Map(rows.map(({ id, agent, grants }) => [id, { agent, grants }]));
}
