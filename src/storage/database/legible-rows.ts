import { z } from 'zod';
import { HoldfastError } from '../../core/errors/errors.js';
import { type Integrity, shown } from '../../core/integrity.js';
import type { Page, UnreadableItem } from '../../core/page.js';
import { type Cell, changedCell } from './stored-json.js';

/** PostgreSQL has times that are none: `infinity`, and years that no `Date` has. */
const isTime = (stored: unknown): boolean => stored instanceof Date && !Number.isNaN(stored.getTime());

/** What the driver gives for a time that is none. */
const isNoTime = (stored: unknown): boolean =>
  stored instanceof Date ? !isTime(stored) : stored === Number.POSITIVE_INFINITY || stored === Number.NEGATIVE_INFINITY;

/** The time of several rows, such as the oldest. Null: none of them has one, or it is one that cannot be read. */
export const timeOrNull = (stored: Date | null): string | null =>
  isTime(stored) ? (stored as Date).toISOString() : null;

/** The same where there must be one: what cannot be read is shown as `TIME` has it. */
export const timeOf = (stored: Date): string => timeOrNull(stored) ?? new Date(0).toISOString();

/** The moment of a time in milliseconds. Null: there is none, or it cannot be read. */
export const msOf = (stored: Date | null): number | null => (isTime(stored) ? (stored as Date).getTime() : null);

/** Shows a row. Throws `row_changed`, which names the column, for a time that is none, as `readJson` does for JSON. */
export function viewOfRow<Row extends object, View>(
  row: Row,
  of: Omit<Cell, 'column'>,
  view: (row: Row) => View,
): View {
  try {
    return view(row);
  } catch (cause) {
    const [column] = Object.entries(row).find(([, stored]) => isNoTime(stored)) ?? [];
    if (column === undefined || cause instanceof HoldfastError) throw cause;
    throw changedCell({ ...of, column }, 'it is no time', cause);
  }
}

/** The items of a page. A row that cannot be read is named beside them, and hides no other. */
export function legibleRows<Row extends object, View>(
  rows: readonly Row[],
  idOf: (row: Row) => string,
  view: (row: Row) => View,
): Pick<Page<View>, 'items' | 'unreadable'> {
  const items: View[] = [];
  const unreadable: UnreadableItem[] = [];
  for (const row of rows)
    try {
      items.push(view(row));
    } catch (error) {
      if (!isRowChanged(error)) throw error;
      unreadable.push({ id: idOf(row), error: error.view() });
    }
  return unreadable.length === 0 ? { items } : { items, unreadable };
}

export const isRowChanged = (error: unknown): error is HoldfastError =>
  error instanceof HoldfastError && error.code === 'row_changed';

/** What a column that is shown must be, and what is shown where it is not. `stored` is as the driver gives it. */
interface Legible {
  readonly reads: (stored: unknown) => boolean;
  readonly instead: unknown;
}

/** Canonical JSON of a shape. `instead` is JSON, too; null where the column may be null, which then reads. */
export const json = (shape: z.ZodType, instead: string | null): Legible => ({
  instead,
  reads: (stored) => (stored === null ? instead === null : isJson(stored, shape)),
});

function isJson(stored: unknown, shape: z.ZodType): boolean {
  try {
    return shape.safeParse(JSON.parse(z.string().parse(stored))).success;
  } catch {
    return false;
  }
}

export const TIME: Legible = { reads: isTime, instead: new Date(0) };
export const TIME_OR_NULL: Legible = { reads: (stored) => stored === null || isTime(stored), instead: null };

/**
 * Shows a row. Where it cannot be shown, because someone has written into it what is no JSON, or nothing of the shape, each such column
 * is named, and shown as if it were empty: one row breaks no page.
 */
export function shownLegibly<Row extends object, View>(
  row: Row,
  {
    table,
    id,
    columns,
  }: { readonly table: string; readonly id: string; readonly columns: Readonly<Record<string, Legible>> },
  view: (row: Row) => View,
): { readonly view: View; readonly unread: Integrity } {
  try {
    return { view: view(row), unread: [] };
  } catch (error) {
    const cells: [string, unknown][] = Object.entries(row);
    const broken = cells.filter(([column, stored]) => columns[column]?.reads(stored) === false);
    if (broken.length === 0) throw error;
    const instead = Object.fromEntries(broken.map(([column]) => [column, columns[column]?.instead]));
    return {
      view: view({ ...row, ...instead }),
      unread: broken.map(([column, stored]) => ({
        ...{ table, row: id, column },
        what: `it is ${shown(String(stored))}, which cannot be read`,
      })),
    };
  }
}

/** What is said of a row: what cannot be read, and what else of it is not what the log says. */
export const alsoUnread = (found: Integrity, unread: Integrity): Integrity => [
  ...found,
  ...unread.filter(({ table, column }) => !found.some((one) => one.table === table && one.column === column)),
];

export type Columns<Row> = { readonly [C in keyof Row]?: Legible };
