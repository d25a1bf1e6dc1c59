import type { AgentInputItem, Session } from '@openai/agents';
import type { Knex } from 'knex';
import {
  itemsOfInput,
  SESSION_BYTES,
  SESSION_ITEMS,
  type SessionItem,
  type SessionView,
  sessionId,
  shownHistory,
} from '../../core/agents/session.js';
import type { Caller } from '../../core/caller.js';
import { HoldfastError } from '../../core/errors/errors.js';
import { invalidRequest } from '../../core/field-errors.js';
import { canonical, digestOf, type JsonObject, type JsonValue, toJson } from '../../core/json.js';
import type { EventDraft } from '../../core/log/event.js';
import type { Page } from '../../core/page.js';
import type { TrustLabel } from '../../core/tools/tool-memory.js';
import { itemFaults } from '../../models/input-items.js';
import { unmarkedItem } from '../../models/providers/answered-by.js';
import { listSessionRows } from '../../storage/agents/session-list.js';
import {
  appendSessionItems,
  cutSessionItems,
  deleteSessionRow,
  findSession,
  holdSession,
  lockOrMakeSession,
  lockSession,
  pageOfSessionItems,
  readSessionItems,
  type SessionRow,
  sessionItemOf,
  sessionLabels,
  sessionViewOf,
} from '../../storage/agents/sessions.js';
import { legibleRows } from '../../storage/database/legible-rows.js';
import { removeOwned } from '../../storage/memory/erase.js';
import { subjectsInSession } from '../../storage/retention/subjects.js';
import { cursorAfter } from '../../storage/runs/run-list.js';
import { readRun, updateRun } from '../../storage/runs/runs.js';
import type { EngineContext } from '../engine-context.js';

interface TakenSession {
  readonly input: readonly JsonObject[];
  readonly loaded: EventDraft;
  /** Whom the runs were about that said something in it. */
  readonly subjects: readonly string[];
  /** Labels of what these runs had read from outside. */
  readonly labels: readonly TrustLabel[];
}

/**
 * Lets a run into a session, in the transaction that starts the run: what the run is asked follows what was said before, and
 * is stored with the run. One run at a time, until it is over. Throws `session_busy` and `session_full`.
 */
export async function takeSession(
  trx: Knex.Transaction,
  session: { readonly tenant: string; readonly id: string },
  runId: string,
  asked: JsonValue,
): Promise<TakenSession> {
  const row = await lockOrMakeSession(trx, session.tenant, session.id);
  await assertFree(trx, row);
  assertCapacity(row);
  await holdSession(trx, row, runId);
  const stored = await readSessionItems(trx, row, { after: 0, limit: row.items });
  const history = shownHistory(stored.map(({ item }) => item));
  const input = [...history, ...itemsOfInput(asked)];
  await updateRun(trx, runId, { input: canonical(input), session_id: row.id, history_items: history.length });
  const data = { sessionId: row.id, items: history.length, digest: digestOf(history) };
  const labels = sessionLabels(row);
  const subjects = stored.length === 0 ? [] : await subjectsInSession(trx, row.tenant, row.id);
  return {
    input,
    loaded: { key: 'session:loaded', parentKey: 'created', kind: 'session.loaded', data },
    subjects,
    labels,
  };
}

/** Throws `session_busy` while a run is in the session. */
async function assertFree(trx: Knex.Transaction, { id, run_id }: SessionRow): Promise<void> {
  if (run_id === null) return;
  const run = await readRun(trx, run_id);
  throw new HoldfastError(
    'session_busy',
    `The session ${JSON.stringify(id)} is held by run ${run_id}, which is ${run?.status ?? 'not over'}.`,
  );
}

/** Throws `session_full` for a session that has reached its bound. */
function assertCapacity({ id, items, bytes }: SessionRow): void {
  if (items < SESSION_ITEMS && Number(bytes) < SESSION_BYTES) return;
  throw new HoldfastError(
    'session_full',
    `The session ${JSON.stringify(id)} has ${items} items of ${bytes} bytes; its bounds are ${SESSION_ITEMS} items and ${SESSION_BYTES} bytes.`,
  );
}

/**
 * A session of the engine's database for a program that runs agents itself with the Agents SDK. What it writes is written
 * at once, not exactly once; while a run of the engine is in the session, writing throws `session_busy`.
 */
export function databaseSession(db: Knex, tenant: string, id: string): Session {
  if (!sessionId.safeParse(id).success) {
    throw new HoldfastError(
      'invalid_request',
      'The id of a session is 1 to 200 visible ASCII characters, and not "." or "..".',
    );
  }
  const read = async (trx: Knex, limit?: number): Promise<readonly JsonObject[]> => {
    const row = await findSession(trx, tenant, id);
    if (limit !== undefined && !Number.isSafeInteger(limit))
      throw new HoldfastError('invalid_request', `A session gives a whole number of its items, and not ${limit}.`);
    if (row === undefined) return [];
    const after = limit === undefined ? 0 : Math.max(0, row.items - Math.max(0, limit));
    return (await readSessionItems(trx, row, { after, limit: row.items - after })).map(({ item }) => item);
  };
  /** Cuts what a session has; one that does not exist has nothing. */
  const cut = (count: (row: SessionRow) => number): Promise<readonly JsonObject[]> =>
    db.transaction(async (trx) => {
      const row = await lockSession(trx, tenant, id);
      if (row === undefined) return [];
      await assertFree(trx, row);
      return cutSessionItems(trx, row, count(row));
    });
  return {
    getSessionId: async () => id,
    getItems: async (limit) => (await read(db, limit)).map(asInput),
    addItems: async (items) => {
      const added = itemsToAdd(items);
      return db.transaction(async (trx) => {
        const row = await lockOrMakeSession(trx, tenant, id);
        await assertFree(trx, row);
        assertCapacity(row);
        await appendSessionItems(trx, row, added, null);
      });
    },
    popItem: async () => {
      const [last] = await cut(() => 1);
      return last === undefined ? undefined : asInput(last);
    },
    clearSession: async () => void (await cut((row) => row.items)),
  };
}

/** Throws `invalid_request`, which names each item that is none of the Agents SDK. */
function itemsToAdd(items: unknown): readonly JsonObject[] {
  const faults = itemFaults(items);
  if (faults.length > 0) throw invalidRequest(faults.map((one) => ({ ...one, pointer: `/items${one.pointer}` })));
  return itemsOfInput(toJson(items));
}

/** What was an item of the SDK when it was written. A program that asks models itself knows nothing of marks. */
const asInput = (item: JsonObject): AgentInputItem => unmarkedItem(item as unknown as AgentInputItem);

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
  return { ...legibleRows(page.rows, (one) => one.id, sessionViewOf), nextCursor: cursorAfter(page) };
}

export async function listSessionItems(
  context: EngineContext,
  id: string,
  { after, limit }: { readonly after: number; readonly limit: number },
  caller: Caller,
): Promise<Page<SessionItem>> {
  const row = known(await findSession(context.stepContext.knex, caller.tenant, id), id);
  const { rows, more } = await pageOfSessionItems(context.stepContext.knex, row, { after, limit });
  const shown = legibleRows(rows, ({ seq }) => String(seq), sessionItemOf(id));
  return { ...shown, nextCursor: more ? String(rows.at(-1)?.seq ?? 0) : null };
}

export async function deleteSession(context: EngineContext, id: string, caller: Caller): Promise<SessionView> {
  return context.stepContext.knex.transaction(async (trx) => {
    const row = known(await lockSession(trx, caller.tenant, id), id);
    await assertFree(trx, row);
    await deleteSessionRow(trx, row);
    const gone = await removeOwned(trx, { tenant: caller.tenant, scope: 'session', owner: id });
    await context.stepContext.memory.enterForgotten(trx, gone, {
      actor: caller.actor,
      reason: 'Its session was deleted',
    });
    return sessionViewOf(row);
  });
}
