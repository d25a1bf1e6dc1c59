import type { Knex } from 'knex';
import { itemsOfInput, SESSION_BYTES, SESSION_ITEMS, shownHistory } from '../../core/agents/session.js';
import { HoldfastError } from '../../core/errors/errors.js';
import { canonical, digestOf, type JsonObject, type JsonValue } from '../../core/json.js';
import type { EventDraft } from '../../core/log/event.js';
import { holdSession, lockOrMakeSession, readSessionItems, type SessionRow } from '../../storage/agents/sessions.js';
import { subjectsInSession } from '../../storage/retention/subjects.js';
import { readRun, updateRun } from '../../storage/runs/runs.js';

interface TakenSession {
  readonly input: readonly JsonObject[];
  readonly loaded: EventDraft;
  /** Whom the runs were about that said something in it. */
  readonly subjects: readonly string[];
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
  assertRoom(row);
  await holdSession(trx, row, runId);
  const stored = await readSessionItems(trx, row, { after: 0, limit: row.items });
  const history = shownHistory(stored.map(({ item }) => item));
  const input = [...history, ...itemsOfInput(asked)];
  await updateRun(trx, runId, { input: canonical(input), session_id: row.id, history_items: history.length });
  const data = { sessionId: row.id, items: history.length, digest: digestOf(history) };
  const subjects = stored.length === 0 ? [] : await subjectsInSession(trx, row.tenant, row.id);
  return { input, loaded: { key: 'session:loaded', parentKey: 'created', kind: 'session.loaded', data }, subjects };
}

/** Throws `session_busy` while a run is in the session. */
export async function assertFree(trx: Knex.Transaction, { id, run_id }: SessionRow): Promise<void> {
  if (run_id === null) return;
  const run = await readRun(trx, run_id);
  throw new HoldfastError(
    'session_busy',
    `The session ${JSON.stringify(id)} is held by run ${run_id}, which is ${run?.status ?? 'not over'}.`,
  );
}

/** Throws `session_full` for a session that has reached its bound. */
export function assertRoom({ id, items, bytes }: SessionRow): void {
  if (items < SESSION_ITEMS && Number(bytes) < SESSION_BYTES) return;
  throw new HoldfastError(
    'session_full',
    `The session ${JSON.stringify(id)} has ${items} items of ${bytes} bytes; its bounds are ${SESSION_ITEMS} items and ${SESSION_BYTES} bytes.`,
  );
}
