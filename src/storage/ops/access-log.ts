import type { Knex } from 'knex';
import type { PageRows } from '../runs/page-rows.js';
import { newestFirst, type Placed } from '../runs/run-list.js';

export interface AccessRow {
  readonly tenant: string;
  readonly actor: string;
  readonly role: string;
  readonly method: string;
  readonly route: string;
  readonly target: string | null;
  readonly status: number;
}

export async function insertAccess(db: Knex, row: AccessRow): Promise<void> {
  await db('holdfast.access_log').insert(row);
}

export type KeptAccess = Placed<AccessRow & { readonly id: string; readonly at: Date }>;

/** What narrows a list of accesses. `run`: what names it, its task, or one of its interruptions. */
export interface AccessFilter {
  readonly tenant: string;
  readonly actor?: string;
  readonly run?: string;
}

/** A page of rows of the access log, newest first. */
export function listAccessRows(
  db: Knex,
  { tenant, actor, run }: AccessFilter,
  page: { readonly limit: number; readonly cursor?: string },
): Promise<PageRows<KeptAccess>> {
  const query = db('holdfast.access_log').where({ tenant }).select('*');
  if (actor !== undefined) query.where({ actor });
  if (run !== undefined)
    query.whereRaw(
      `target = any(array(select id from holdfast.interruptions where run_id = :run
         union all select task_id from holdfast.runs where id = :run and task_id is not null) || array[:run]::text[])`,
      { run },
    );
  return newestFirst(db, query, page, { at: 'at', id: 'id', bytes: '0' });
}
