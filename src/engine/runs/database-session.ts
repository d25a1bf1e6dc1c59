import type { AgentInputItem, Session } from '@openai/agents';
import type { Knex } from 'knex';
import { itemsOfInput, sessionId } from '../../core/agents/session.js';
import { HoldfastError } from '../../core/errors/errors.js';
import { type JsonObject, toJson } from '../../core/json.js';
import { unmarkedItem } from '../../models/providers/answered-by.js';
import {
  appendSessionItems,
  cutSessionItems,
  findSession,
  lockOrMakeSession,
  lockSession,
  readSessionItems,
  type SessionRow,
} from '../../storage/agents/sessions.js';
import { assertFree, assertRoom } from './hold-session.js';

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
    addItems: (items) =>
      db.transaction(async (trx) => {
        const row = await lockOrMakeSession(trx, tenant, id);
        await assertFree(trx, row);
        assertRoom(row);
        await appendSessionItems(trx, row, itemsOfInput(toJson(items)), null);
      }),
    popItem: async () => {
      const [last] = await cut(() => 1);
      return last === undefined ? undefined : asInput(last);
    },
    clearSession: async () => void (await cut((row) => row.items)),
  };
}

/** What was an item of the SDK when it was written. A program that asks models itself knows nothing of marks. */
const asInput = (item: JsonObject): AgentInputItem => unmarkedItem(item as unknown as AgentInputItem);
