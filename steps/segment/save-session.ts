import type { Knex } from 'knex';
import { itemsOfInput, keptItems } from '../../src/core/agents/session.js';
import { digestOf, type JsonObject } from '../../src/core/json.js';
import type { EventDraft } from '../../src/core/log/event.js';
import { appendSessionItems, lockSession } from '../../src/storage/agents/sessions.js';
import { inputOf, type RunRow } from '../../src/storage/runs/run-row.js';

/**
 * Adds to a session what a completed run was asked and what it said, in the transaction that ends the run, and gives the
 * event of it. Nothing happens for a run that is in no session.
 */
export async function saveSession(
  trx: Knex.Transaction,
  run: RunRow,
  produced: readonly JsonObject[],
  parentKey: string,
): Promise<readonly EventDraft[]> {
  if (run.session_id === null) return [];
  const session = await lockSession(trx, run.tenant, run.session_id);
  // Only the run that holds the session writes to it: another run may have gone on with the conversation since.
  if (session === undefined || session.run_id !== run.id) return [];
  const asked = itemsOfInput(inputOf(run)).slice(run.history_items);
  const items = keptItems([...asked, ...produced]);
  await appendSessionItems(trx, session, items, run.id);
  const data = { sessionId: session.id, items: items.length, digest: digestOf(items) };
  return [{ key: 'session:saved', parentKey, kind: 'session.saved', data }];
}
