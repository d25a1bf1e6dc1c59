import type { Knex } from 'knex';
import type { SessionItem, SessionView } from '../../core/agents/session.js';
import { canonical, type JsonObject, jsonObject } from '../../core/json.js';
import type { TrustLabel } from '../../core/tools/tool-memory.js';
import { viewOfRow } from '../database/legible-rows.js';
import { readJson } from '../database/stored-json.js';
import { readLabels } from '../memory/documents.js';
import { type PageRows, rowsOfPage } from '../runs/page-rows.js';

/** A row of `holdfast.sessions` as the driver gives it: int8 as text. */
export interface SessionRow {
  tenant: string;
  id: string;
  run_id: string | null;
  items: number;
  bytes: string;
  labels: string;
  created_at: Date;
  updated_at: Date;
}

interface ItemRow {
  tenant: string;
  session_id: string;
  seq: number;
  run_id: string | null;
  item: string;
}

export const sessions = (db: Knex) => db<SessionRow>('holdfast.sessions');
const items = (db: Knex) => db<ItemRow>('holdfast.session_items');

export const findSession = (db: Knex, tenant: string, id: string): Promise<SessionRow | undefined> =>
  sessions(db).where({ tenant, id }).first();

/** Reads a session and holds its row until the transaction ends. Lock a run before its session. */
export const lockSession = (trx: Knex.Transaction, tenant: string, id: string): Promise<SessionRow | undefined> =>
  sessions(trx).where({ tenant, id }).forNoKeyUpdate().first();

/** As `lockSession`; makes the session where there is none. */
export async function lockOrMakeSession(trx: Knex.Transaction, tenant: string, id: string): Promise<SessionRow> {
  await sessions(trx).insert({ tenant, id }).onConflict(['tenant', 'id']).ignore();
  const row = await lockSession(trx, tenant, id);
  // It was deleted between the two statements: the lock of the new row is ours.
  return row ?? lockOrMakeSession(trx, tenant, id);
}

const now = (db: Knex): Date => db.fn.now() as unknown as Date;

/** Under the lock of the session's row: from now on the run is the one in the session. */
export async function holdSession(trx: Knex.Transaction, { tenant, id }: SessionRow, runId: string): Promise<void> {
  await sessions(trx)
    .where({ tenant, id })
    .update({ run_id: runId, updated_at: now(trx) });
}

/** Lets the next run into the session of a run that is over. Nothing happens where it is in none. */
export const releasingSessions = (trx: Knex.Transaction, runIds: readonly string[]) =>
  sessions(trx)
    .whereRaw('run_id = any(?)', [[...runIds]])
    .update({ run_id: null, updated_at: now(trx) });

/** Adds items at the end of a session, under the lock of its row. */
export async function appendSessionItems(
  trx: Knex.Transaction,
  row: SessionRow,
  added: readonly JsonObject[],
  runId: string | null,
): Promise<void> {
  const { tenant, id } = row;
  const texts = added.map((item) => canonical(item));
  const rows = texts.map((item, index) => ({
    tenant,
    session_id: id,
    seq: row.items + 1 + index,
    run_id: runId,
    item,
  }));
  await trx.batchInsert('holdfast.session_items', rows, 1000);
  const bytes = texts.reduce((sum, text) => sum + Buffer.byteLength(text), Number(row.bytes));
  await sessions(trx)
    .where({ tenant, id })
    .update({ items: row.items + added.length, bytes: String(bytes), updated_at: now(trx) });
}

export const sessionLabels = ({ id, labels }: SessionRow): readonly TrustLabel[] =>
  readLabels(labels, { table: 'sessions', row: id, column: 'labels' });

/** Adds labels of what a run in it had read from outside, under the lock of its row. They only grow. */
export async function labelSession(
  trx: Knex.Transaction,
  row: SessionRow,
  added: readonly TrustLabel[],
): Promise<void> {
  const { tenant, id } = row;
  const all = canonical([...new Set([...sessionLabels(row), ...added])].sort());
  if (all !== row.labels) await sessions(trx).where({ tenant, id }).update({ labels: all });
}

/** Takes the last items away, under the lock of the session's row, and gives them in order. */
export async function cutSessionItems(
  trx: Knex.Transaction,
  row: SessionRow,
  count: number,
): Promise<readonly JsonObject[]> {
  const { tenant, id } = row;
  const after = Math.max(0, row.items - count);
  const cut = await readSessionItems(trx, row, { after, limit: count });
  await items(trx).where({ tenant, session_id: id }).where('seq', '>', after).delete();
  const bytes = cut.reduce((sum, { item }) => sum + Buffer.byteLength(canonical(item)), 0);
  await sessions(trx)
    .where({ tenant, id })
    .update({ items: after, bytes: String(Number(row.bytes) - bytes), updated_at: now(trx) });
  return cut.map(({ item }) => item);
}

/** Items after a place in a session, in order. */
export async function readSessionItems(
  db: Knex,
  { tenant, id }: { readonly tenant: string; readonly id: string },
  { after, limit }: { readonly after: number; readonly limit: number },
): Promise<SessionItem[]> {
  const rows: ItemRow[] = await itemsAfter(db, { tenant, id }, after).orderBy('seq').limit(limit);
  return rows.map(sessionItemOf(id));
}

const itemsAfter = (db: Knex, { tenant, id }: { readonly tenant: string; readonly id: string }, after: number) =>
  items(db)
    .where({ tenant, session_id: id })
    // The column is an int4; what a client says it has seen may be beyond it.
    .whereRaw('seq > ?::bigint', [after]);

export const sessionItemOf =
  (sessionId: string) =>
  ({ seq, run_id: runId, item }: ItemRow): SessionItem => ({
    ...{ seq, runId },
    item: readJson(jsonObject, item, { table: 'session_items', row: `${seq} of session ${sessionId}`, column: 'item' }),
  });

/** A page of the same. */
export async function pageOfSessionItems(
  db: Knex,
  { tenant, id }: { readonly tenant: string; readonly id: string },
  { after, limit }: { readonly after: number; readonly limit: number },
): Promise<PageRows<ItemRow>> {
  const order = [{ column: 'seq', order: 'asc' as const }];
  const query = itemsAfter(db, { tenant, id }, after).select('*');
  return rowsOfPage<ItemRow>(db, query, { order, bytes: 'octet_length(item)', limit });
}

/** Removes a session with its items, under the lock of its row. */
export async function deleteSessionRow(trx: Knex.Transaction, { tenant, id }: SessionRow): Promise<void> {
  await sessions(trx).where({ tenant, id }).delete();
}

export const sessionViewOf = (row: SessionRow): SessionView =>
  viewOfRow(row, { table: 'sessions', row: row.id }, shownSession);

const shownSession = (row: SessionRow): SessionView => ({
  id: row.id,
  tenant: row.tenant,
  runId: row.run_id,
  items: row.items,
  bytes: Number(row.bytes),
  createdAt: row.created_at.toISOString(),
  updatedAt: row.updated_at.toISOString(),
});

/** Takes what a run added out of its session. Those that follow move up, so that places stay without a gap. */
export async function removeItemsOfRun(
  trx: Knex.Transaction,
  tenant: string,
  sessionId: string,
  runId: string,
): Promise<void> {
  const row = await lockSession(trx, tenant, sessionId);
  if (row === undefined) return;
  const items = () => trx('holdfast.session_items').where({ tenant, session_id: sessionId });
  const removed: { seq: number; bytes: number }[] = await items()
    .where({ run_id: runId })
    .delete()
    .returning(['seq', trx.raw('octet_length(item) as bytes')]);
  if (removed.length === 0) return;
  const first = Math.min(...removed.map(({ seq }) => seq));
  // By way of places that no one has: each row is checked when it moves.
  await trx.raw(
    `update holdfast.session_items i set seq = -n.place
       from (select seq, :first::int - 1 + row_number() over (order by seq) as place from holdfast.session_items
              where tenant = :tenant and session_id = :sessionId and seq > :first) n
      where i.tenant = :tenant and i.session_id = :sessionId and i.seq = n.seq`,
    { tenant, sessionId, first },
  );
  await items()
    .where('seq', '<', 0)
    .update({ seq: trx.raw('-seq') });
  const bytes = removed.reduce((sum, one) => sum + one.bytes, 0);
  await sessions(trx)
    .where({ tenant, id: sessionId })
    .update({
      items: row.items - removed.length,
      bytes: String(Number(row.bytes) - bytes),
      updated_at: trx.fn.now() as unknown as Date,
    });
}
