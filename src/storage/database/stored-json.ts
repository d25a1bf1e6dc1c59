import { z } from 'zod';
import { HoldfastError } from '../../core/errors/errors.js';
import { fieldErrorsOf } from '../../core/field-errors.js';

/** The place of a JSON text that the engine has written. */
export interface Cell {
  readonly table: string;
  readonly row: string;
  readonly column: string;
}

/**
 * Reads a JSON text of a row. Throws `row_changed`, which names table, row and column, for a text that is no JSON or has another shape:
 * the engine writes neither, so someone else has.
 */
export function readJson<T>(shape: z.ZodType<T>, stored: string, cell: Cell): T {
  try {
    return shape.parse(JSON.parse(stored));
  } catch (cause) {
    throw changedCell(cell, whyNot(cause), cause);
  }
}

export const changedCell = ({ table, row, column }: Cell, what: string, cause: unknown): HoldfastError =>
  new HoldfastError('row_changed', `${table}, row ${row}, ${column}: ${what}.`, {
    cause,
    hint: 'Someone changed the database. Put what was there back from a backup, or remove the row.',
  });

/** The same of a column that may be null. */
export const readJsonOrNull = <T>(shape: z.ZodType<T>, stored: string | null, cell: Cell): T | null =>
  stored === null ? null : readJson(shape, stored, cell);

/** The same for what is to be erased, which no text may prevent. Null: it cannot be read. */
export function readJsonIfLegible<T>(shape: z.ZodType<T>, stored: string): T | null {
  try {
    return shape.parse(JSON.parse(stored));
  } catch {
    return null;
  }
}

/** Says nothing of the text itself, which may be a secret. */
function whyNot(cause: unknown): string {
  if (!(cause instanceof z.ZodError)) return 'it is no JSON';
  const [first] = fieldErrorsOf(cause);
  return `it has another shape${first === undefined || first.pointer === '' ? '' : ` at ${first.pointer}`}`;
}
