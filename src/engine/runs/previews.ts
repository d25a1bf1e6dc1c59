import type { CutValues } from '../../core/page.js';
import { shownBeginning } from '../../models/secrets/known-secrets.js';
import { type Cut, PREVIEW_BYTES } from '../../storage/runs/page-rows.js';

/** So much of a long value is shown, in characters. */
const SHOWN_CHARS = 1000;

/** A row of a list whose long columns hold JSON: those that are cut become a JSON text, the beginning of what they say. */
export function withPreviews<Column extends string, Row extends LongRow<Column>>(
  row: Row,
  columns: readonly Column[],
  whole: string,
): { readonly row: Row; readonly cut: CutValues } {
  const long: LongRow<Column> = row;
  const fields = columns.filter((column) => long[`${column}_cut`]);
  if (fields.length === 0) return { row, cut: null };
  const shown = fields.map((field) => [field, JSON.stringify(beginningOf(long[field] ?? ''))]);
  return { row: { ...row, ...Object.fromEntries(shown) }, cut: { fields, whole } };
}

type LongRow<Column extends string> = { readonly [C in Column]: string | null } & Cut<Column>;

/** Whether a value is shown in part in lists. */
export const isLong = (json: string): boolean => Buffer.byteLength(json) > PREVIEW_BYTES;

/** Without half a character, and without what may be the beginning of a secret. */
export const beginningOf = (json: string): string =>
  shownBeginning(json.slice(0, SHOWN_CHARS)).replace(/[\uD800-\uDBFF]$/, '');
