import type { Caller } from '../../core/caller.js';
import type { AccessView } from '../../core/ops/access.js';
import type { Page, PageOf } from '../../core/page.js';
import { legibleRows, viewOfRow } from '../../storage/database/legible-rows.js';
import { type AccessFilter, type KeptAccess, listAccessRows } from '../../storage/ops/access-log.js';
import { cursorAfter } from '../../storage/runs/run-list.js';
import type { EngineContext } from '../engine-context.js';
import { statusOf } from '../runs/read-runs.js';

const viewOf = (row: KeptAccess): AccessView =>
  viewOfRow(row, { table: 'access_log', row: row.id }, ({ id, at, actor, role, method, route, target, status }) => ({
    ...{ id, at: at.toISOString(), actor, role, method, route, target, status },
  }));

async function page(
  { stepContext: { knex } }: EngineContext,
  filter: AccessFilter,
  of: PageOf,
): Promise<Page<AccessView>> {
  const found = await listAccessRows(knex, filter, of);
  return { ...legibleRows(found.rows, ({ id }) => id, viewOf), nextCursor: cursorAfter(found) };
}

export const ACCESS_OPERATIONS = {
  /** Who asked for what in the tenant, newest first. */
  listAccess: (
    context: EngineContext,
    { actor, ...of }: PageOf & { readonly actor?: string },
    { tenant }: Caller,
  ): Promise<Page<AccessView>> => page(context, { tenant, ...(actor === undefined ? {} : { actor }) }, of),
  /** Who asked for what about a run, its task and what it waited for, newest first. Throws `run_unknown`. */
  async listRunAccess(
    context: EngineContext,
    run: string,
    { actor, ...of }: PageOf & { readonly actor?: string },
    caller: Caller,
  ): Promise<Page<AccessView>> {
    await statusOf(context, run, caller);
    return page(context, { tenant: caller.tenant, run, ...(actor === undefined ? {} : { actor }) }, of);
  },
};
