import type { Knex } from 'knex';
import { newestFirst } from './run-list.js';
import { type SessionRow, sessions } from './sessions.js';

/** One page of sessions, newest first, and one more row when there is a next page. */
export async function listSessionRows(
  db: Knex,
  filter: { readonly tenant: string; readonly limit: number; readonly cursor?: string },
): Promise<(SessionRow & { readonly place: string })[]> {
  return newestFirst<SessionRow>(db, sessions(db).where({ tenant: filter.tenant }), filter);
}
