import type { Knex } from 'knex';
import { decodeCursor, placeBy } from './run-list.js';
import { type SessionRow, sessions } from './sessions.js';

/** One page of sessions, newest first, and one more row when there is a next page. */
export async function listSessionRows(
  db: Knex,
  filter: { readonly tenant: string; readonly limit: number; readonly cursor?: string },
): Promise<(SessionRow & { readonly place: string })[]> {
  const query = sessions(db)
    .where({ tenant: filter.tenant })
    .orderBy([
      { column: 'created_at', order: 'desc' },
      { column: 'id', order: 'desc' },
    ])
    .limit(filter.limit + 1)
    .select('*', placeBy(db, 'created_at'));
  if (filter.cursor !== undefined) {
    const { at, id } = decodeCursor(filter.cursor);
    query.whereRaw('(created_at, id) < (?::timestamptz, ?)', [at, id]);
  }
  return query;
}
