import type { Knex } from 'knex';
import {
  CHANGE_COLUMNS,
  type ChangeText,
  DOCUMENT_COLUMNS,
  type DocumentText,
  rowDigests,
  WRITE_COLUMNS,
  type WriteText,
  writesDigest,
} from '../../core/memory/memory-evidence.js';
import type { WritesOfCall } from '../../core/tools/tool-memory.js';
import type { DocumentPlace } from './documents.js';

/** Rows of memory as they are compared with what is kept of them. */

const timeText = (column: string): string => `to_char(${column} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US')`;
const TIMES: ReadonlySet<string> = new Set(['created_at', 'changed_at', 'expires_at', 'at']);

function textOf(table: string, column: string): string {
  const own = `${table}."${column}"`;
  if (TIMES.has(column)) return timeText(own);
  return column === 'document' && table === 'd' ? `encode(sha256(${own}), 'hex')` : `${own}::text`;
}

const objectOf = (table: string, columns: readonly string[]): string =>
  `json_build_object(${columns.map((column) => `'${column}', ${textOf(table, column)}`).join(', ')})::text`;

/** SQL of the text of a row under an alias: `d` a document, `c` a change, `w` a write. */
export const DOCUMENT_TEXT = objectOf('d', DOCUMENT_COLUMNS);
export const CHANGE_TEXT = objectOf('c', CHANGE_COLUMNS);
export const WRITE_TEXT = objectOf('w', WRITE_COLUMNS);
export const SAME_PLACE = `c.tenant = d.tenant and c.space = d.space and c.owner = d.owner and c.key = d.key`;

/** What is kept of a write: which document it changed, and digests of the change and of the document after it. */
export interface WriteEvidence {
  readonly version: number;
  readonly document: string | null;
  readonly change: string | null;
  readonly state: string | null;
}

/** Reads what a write has just made. */
export async function writeEvidence(
  trx: Knex.Transaction,
  { tenant, space, owner, key }: DocumentPlace,
  version: number,
): Promise<WriteEvidence> {
  const { rows }: { rows: { id: string; salt: string | null; document: string; change: string }[] } = await trx.raw(
    `select d.id, d.salt, ${DOCUMENT_TEXT} as document, ${CHANGE_TEXT} as change
       from holdfast.memory_documents d join holdfast.memory_changes c on ${SAME_PLACE} and c.version = d.version
      where d.tenant = ? and d.space = ? and d.owner = ? and d.key = ? and d.version = ?`,
    [tenant, space, owner, key, version],
  );
  const [row] = rows;
  if (row === undefined) return { version, document: null, change: null, state: null };
  // What the database wrote as JSON, from columns that are named here.
  const change = rowDigests(CHANGE_COLUMNS, JSON.parse(row.change) as ChangeText);
  const state = rowDigests(DOCUMENT_COLUMNS, JSON.parse(row.document) as DocumentText, row.salt ?? '');
  return { version, document: row.id, change, state };
}

/** What the log is to say of the writes that a run made in a call; null: it made none. */
export async function writesMade(db: Knex, runId: string, callId: string): Promise<WritesOfCall | null> {
  const { rows }: { rows: { call: string; write: string }[] } = await db.raw(
    `select w.call_key as call, ${WRITE_TEXT} as write from holdfast.memory_writes w
      where w.run_id = ? and substr(w.call_key, position(':' in w.call_key) + 1) = ? order by w.n`,
    [runId, callId],
  );
  const [first] = rows;
  if (first === undefined) return null;
  const writes = rows.map(({ write }) => JSON.parse(write) as WriteText);
  return { call: first.call, count: writes.length, digest: writesDigest(writes), entered: true };
}
