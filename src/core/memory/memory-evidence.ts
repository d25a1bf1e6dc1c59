import { hash } from 'node:crypto';
import { z } from 'zod';
import { digestOf, jsonOrNull } from '../json.js';
import type { WritesOfCall } from '../tools/tool-memory.js';

/** What the log of a run says of the rows that its calls wrote into memory. */

/** Columns of a document and of a change that are compared, in the order of their digests. New ones come at the end. */
export const DOCUMENT_COLUMNS = [
  ...(['tenant', 'space', 'owner', 'key', 'scope', 'version', 'value', 'labels', 'document', 'words', 'id'] as const),
  ...(['created_at', 'changed_at', 'expires_at'] as const),
] as const;
export const CHANGE_COLUMNS = [
  ...(['tenant', 'space', 'owner', 'key', 'version', 'base', 'ops', 'frontiers', 'run_id', 'call_id'] as const),
  ...(['event', 'agent', 'actors', 'derived_from', 'labels', 'at'] as const),
] as const;
/** Columns of a write, which all are in the digest of the writes of its call. */
export const WRITE_COLUMNS = ['n', 'tenant', 'version', 'document', 'change', 'state', 'at'] as const;

/** A row as text: bytes as their SHA-256, times in UTC to the microsecond. */
export type RowText<Column extends string> = { readonly [column in Column]: string | null };
export type DocumentText = RowText<(typeof DOCUMENT_COLUMNS)[number]>;
export type ChangeText = RowText<(typeof CHANGE_COLUMNS)[number]>;
export type WriteText = RowText<(typeof WRITE_COLUMNS)[number]>;

const DIGEST_LETTERS = 32;
const digestIn = (salt: string, column: string, text: string | null): string =>
  hash('sha256', JSON.stringify([salt, column, text]), 'hex').slice(0, DIGEST_LETTERS);

/**
 * A digest of each column of a row, as JSON. A document has words of several runs: its salt goes with the state, so that no one can try
 * what it said before an erasure.
 */
export const rowDigests = <C extends string>(columns: readonly C[], row: RowText<C>, salt = ''): string =>
  JSON.stringify(columns.map((column) => digestIn(salt, column, row[column])));

const digestList = z.array(z.string());

/** Columns of a row that are not what they were when their digests were kept. All of them, where these cannot be read. */
export function changedColumns<C extends string>(
  columns: readonly C[],
  row: RowText<C>,
  kept: string | null,
  salt = '',
): readonly C[] {
  const digests = digestList.safeParse(jsonOrNull(kept ?? '')).data ?? [];
  return columns.filter((column, at) => digests[at] !== digestIn(salt, column, row[column]));
}

/** The digest of the writes of a call, by their numbers. */
export const writesDigest = (writes: readonly WriteText[]): string =>
  digestOf(
    [...writes].sort((a, b) => Number(a.n) - Number(b.n)).map((write) => WRITE_COLUMNS.map((column) => write[column])),
  );

/** Whether a list of rows is what the log says of the writes of a call. */
export const areWritesOf = (said: WritesOfCall, writes: readonly WriteText[]): boolean =>
  writes.length === said.count && writesDigest(writes) === said.digest;
