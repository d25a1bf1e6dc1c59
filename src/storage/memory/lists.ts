import type { Knex } from 'knex';
import { z } from 'zod';
import { documentName } from '../../core/integrity/memory-rows.js';
import type { Integrity } from '../../core/integrity.js';
import { type JsonObject, jsonObject } from '../../core/json.js';
import type { MemoryEntry, MemorySpaceView } from '../../core/memory/memory-view.js';
import { type Page, type PageOf, readCursor, writeCursor } from '../../core/page.js';
import type { Embedding, MemoryScope } from '../../core/tools/memory-space.js';
import { trustLabel } from '../../core/tools/tool-memory.js';
import { type Columns, json, shownLegibly, TIME, TIME_OR_NULL, timeOrNull } from '../database/legible-rows.js';
import { contentOf, type DocumentPlace, type DocumentRow, documents, LIVING, labelsOf } from './documents.js';
import type { SignIndex } from './sign-index.js';
import { nearestDocuments } from './vectors.js';

/** The spaces of a tenant that have documents, in the order of their names. */
export async function spacesOf(db: Knex, tenant: string): Promise<MemorySpaceView[]> {
  const { rows }: { rows: { space: string; scope: MemoryScope; documents: number; changed_at: Date }[] } = await db.raw(
    `select space, min(scope) as scope, count(*)::int as documents, max(changed_at) as changed_at
       from holdfast.memory_documents where tenant = ? and ${LIVING} group by space order by space`,
    [tenant],
  );
  return rows.map(({ space, scope, documents: count, changed_at: at }) => ({
    ...{ space, scope, documents: count, changedAt: timeOrNull(at) },
  }));
}

const LISTED = ['space', 'owner', 'key', 'version', 'labels', 'created_at', 'changed_at', 'expires_at'] as const;

/** An entry that was not compared with the log, and what of its row cannot be read. */
type ListedEntry = Omit<MemoryEntry, 'integrity'> & { readonly unread: Integrity };
type ListedRow = Pick<DocumentRow, (typeof LISTED)[number]>;

const COLUMNS: Columns<DocumentRow> = {
  ...{ labels: json(z.array(trustLabel), '[]'), value: json(jsonObject, '{}') },
  ...{ created_at: TIME, changed_at: TIME, expires_at: TIME_OR_NULL },
};

function shownDocument<Row extends ListedRow, View extends object>(row: Row, view: (row: Row) => View) {
  const of = { table: 'memory_documents', id: documentName(row), columns: COLUMNS };
  const { view: document, unread } = shownLegibly(row, of, view);
  return { ...document, unread };
}

const entryOf = (row: ListedRow): ListedEntry => shownDocument(row, readEntry);

const readEntry = (row: ListedRow) => ({
  ...{ space: row.space, owner: row.owner, key: row.key, version: row.version, labels: [...labelsOf(row)] },
  ...{ createdAt: row.created_at.toISOString(), changedAt: row.changed_at.toISOString() },
  expiresAt: row.expires_at?.toISOString() ?? null,
});

/** Owner and key of the last document of a page. */
const cursorShape = z.tuple([z.string(), z.string()]);

export interface DocumentFilter extends PageOf {
  readonly tenant: string;
  readonly space: string;
  readonly owner?: string;
  /** Words that a document has all. */
  readonly q?: string;
}

/** A page of documents of a space, by owner and key. */
export async function listDocuments(db: Knex, filter: DocumentFilter): Promise<Page<ListedEntry>> {
  const { tenant, space, owner, q, limit, cursor } = filter;
  const found = documents(db)
    .where({ tenant, space })
    .whereRaw(LIVING)
    .orderBy(['owner', 'key'])
    .limit(limit + 1)
    .select(...LISTED);
  if (owner !== undefined) found.where({ owner });
  if (q !== undefined) found.whereRaw("search @@ websearch_to_tsquery('simple', ?)", [q]);
  if (cursor !== undefined) found.whereRaw('(owner, key) > (?, ?)', [...readCursor(cursor, cursorShape)]);
  const rows = await found;
  const items = rows.slice(0, limit).map(entryOf);
  const last = items.at(-1);
  const more = rows.length > limit && last !== undefined;
  const next = more ? writeCursor([last.owner, last.key]) : null;
  return { items, nextCursor: next };
}

/** The documents of a space whose vectors are nearest to one, the nearest first. */
export async function listNearest(
  { db, signs }: { readonly db: Knex; readonly signs: SignIndex },
  { tenant, space, owner, limit }: Pick<DocumentFilter, 'tenant' | 'space' | 'owner' | 'limit'>,
  embedding: Embedding,
  vector: Float32Array,
): Promise<(ListedEntry & { readonly distance: number })[]> {
  const place = { tenant, space, owner: owner ?? null };
  const { near } = await nearestDocuments({ db, signs }, place, embedding, { vector, limit });
  const rows = await documents(db)
    .where({ tenant, space })
    .whereRaw(LIVING)
    .whereRaw('(owner, key) in (select * from unnest(?::text[], ?::text[]))', [
      near.map((one) => one.owner),
      near.map((one) => one.key),
    ])
    .select(...LISTED);
  const entries = new Map(rows.map((row) => [JSON.stringify([row.owner, row.key]), entryOf(row)]));
  return near.flatMap(({ owner: whose, key, distance }) => {
    const entry = entries.get(JSON.stringify([whose, key]));
    return entry === undefined ? [] : [{ ...entry, distance }];
  });
}

/** Null: there is none. */
export async function readDocument(
  db: Knex,
  { tenant, space, owner, key }: DocumentPlace,
): Promise<(ListedEntry & { readonly value: JsonObject }) | null> {
  const row = await documents(db)
    .where({ tenant, space, owner, key })
    .whereRaw(LIVING)
    .first(...LISTED, 'value');
  return row === undefined ? null : shownDocument(row, (one) => ({ ...readEntry(one), value: contentOf(one) }));
}
