import { z } from 'zod';
import { shown } from '../../core/integrity/copied-table.js';
import type { Integrity } from '../../core/integrity/integrity.js';

/** What a column that is shown must be, and what is shown where it is not. `stored` is as the driver gives it. */
export interface Legible {
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

const isTime = (stored: unknown): boolean => stored instanceof Date && !Number.isNaN(stored.getTime());
/** PostgreSQL has times that are none: `infinity`, and years that no `Date` has. */
export const TIME: Legible = { reads: isTime, instead: new Date(0) };
export const TIME_OR_NULL: Legible = { reads: (stored) => stored === null || isTime(stored), instead: null };

/**
 * Shows a row. Where it cannot be shown, because somebody has written into it what is no JSON, or nothing of the shape, each such column
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
