import type { SessionItem, SessionView } from '../../core/agents/session.js';
import type { Caller } from '../../core/caller.js';
import { HoldfastError } from '../../core/errors/errors.js';
import type { Page } from '../../core/page.js';
import { listSessionRows } from '../../storage/agents/session-list.js';
import {
  deleteSessionRow,
  findSession,
  lockSession,
  pageOfSessionItems,
  type SessionRow,
  sessionViewOf,
} from '../../storage/agents/sessions.js';
import { cursorAfter } from '../../storage/runs/run-list.js';
import type { EngineContext } from '../engine-context.js';
import { assertFree } from './hold-session.js';

const known = (row: SessionRow | undefined, id: string): SessionRow => {
  if (row !== undefined) return row;
  throw new HoldfastError('session_unknown', `There is no session ${JSON.stringify(id)}.`);
};

export async function getSession(context: EngineContext, id: string, caller: Caller): Promise<SessionView> {
  return sessionViewOf(known(await findSession(context.stepContext.knex, caller.tenant, id), id));
}

export async function listSessions(
  context: EngineContext,
  filter: { readonly limit: number; readonly cursor?: string },
  caller: Caller,
): Promise<Page<SessionView>> {
  const page = await listSessionRows(context.stepContext.knex, { ...filter, tenant: caller.tenant });
  return { items: page.rows.map(sessionViewOf), nextCursor: cursorAfter(page) };
}

export async function listSessionItems(
  context: EngineContext,
  id: string,
  { after, limit }: { readonly after: number; readonly limit: number },
  caller: Caller,
): Promise<Page<SessionItem>> {
  const row = known(await findSession(context.stepContext.knex, caller.tenant, id), id);
  const { rows: items, more } = await pageOfSessionItems(context.stepContext.knex, row, { after, limit });
  return { items, nextCursor: more ? String(items.at(-1)?.seq ?? 0) : null };
}

export async function deleteSession(context: EngineContext, id: string, caller: Caller): Promise<SessionView> {
  return context.stepContext.knex.transaction(async (trx) => {
    const row = known(await lockSession(trx, caller.tenant, id), id);
    await assertFree(trx, row);
    await deleteSessionRow(trx, row);
    return sessionViewOf(row);
  });
}
