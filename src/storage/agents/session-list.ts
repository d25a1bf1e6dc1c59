import type { Knex } from 'knex';
import type { PageRows } from '../runs/page-rows.js';
import { newestFirst, type Placed } from '../runs/run-list.js';
import { type SessionRow, sessions } from './sessions.js';

/** A page of sessions, newest first. */
export async function listSessionRows(
  db: Knex,
  filter: { readonly tenant: string; readonly limit: number; readonly cursor?: string },
): Promise<PageRows<Placed<SessionRow>>> {
  return newestFirst(db, sessions(db).where({ tenant: filter.tenant }).select('*'), filter, { bytes: '0' });
}
