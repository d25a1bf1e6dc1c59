import { shown } from '../integrity.js';
import type { LoggedFacts } from './logged-facts.js';

/** A value of a row as it is compared: times as text, and of what may be large its SHA-256. */
export type Cell = string | number | boolean | null;
export type StoredRow = { readonly [column: string]: Cell };

/** What a log says that a column is. Undefined: it does not say. */
export type ExpectedCell =
  | Cell
  | undefined
  /** One of these. */
  | { readonly oneOf: readonly Cell[] }
  /** A time that was taken in the transaction of an event. */
  | { readonly near: string }
  /** A time after one event, and before another one where there is one. */
  | { readonly from: string; readonly to: string | null }
  /** A number that is not less. */
  | { readonly atLeast: number }
  /** What other rows add up to: `of` names them. Null: one of them is not known. */
  | { readonly sum: number | null; readonly of: string }
  /** Something. */
  | { readonly not: null };

/** Where a column is evidence, what the log says of it; else why it is none. */
export type Column<Fact> =
  | { readonly log: (fact: Fact, facts: LoggedFacts, row: StoredRow) => ExpectedCell; readonly large?: true }
  | { readonly because: string };

/** A table whose rows say again what logs say. */
export interface CopiedTable<Fact> {
  /** The columns that name a row among those of its run. */
  readonly key: readonly string[];
  /** What the log says, by key. */
  readonly facts: (facts: LoggedFacts) => ReadonlyMap<string, Fact>;
  /** Which fact each row is of, where its key does not say; those that are left out are of none that the log knows. */
  readonly places?: (rows: readonly StoredRow[], facts: LoggedFacts) => ReadonlyMap<StoredRow, string>;
  /** Whether a row must be there for what the log says. */
  readonly required: (fact: Fact) => boolean;
  /** Whether a row may be there that the log does not know, because its event is still to come. */
  readonly ahead: (facts: LoggedFacts, row: StoredRow) => boolean;
  readonly columns: { readonly [column: string]: Column<Fact> };
}

/** How far the clock of a row and that of its event may differ: both are taken within one transaction. */
const NEAR_MS = 600_000;

/** Whether a stored value is what the log says. */
export function isSaid(stored: Cell, said: ExpectedCell): boolean {
  if (said === undefined) return true;
  if (said === null || typeof said !== 'object') return isSame(stored, said);
  if ('oneOf' in said) return said.oneOf.some((one) => isSame(stored, one));
  if ('sum' in said) return isSame(stored, said.sum);
  if ('not' in said) return stored !== null;
  if ('atLeast' in said) return Number(stored) >= said.atLeast;
  const at = Date.parse(String(stored));
  if ('from' in said)
    return at >= Date.parse(said.from) - NEAR_MS && (said.to === null || at <= Date.parse(said.to) + NEAR_MS);
  return Math.abs(at - Date.parse(said.near)) <= NEAR_MS;
}

/** Drivers give large numbers as text. */
const isSame = (stored: Cell, said: Cell): boolean =>
  typeof said === 'number' && typeof stored === 'string' ? Number(stored) === said : stored === said;

/** What is said of a column, for people. */
export function saidText(said: ExpectedCell): string {
  const isSum = typeof said === 'object' && said !== null && 'sum' in said;
  return isSum ? `${said.of} add up to ${said.sum ?? 'what is not known'}` : `the log says ${loggedText(said)}`;
}

function loggedText(said: Exclude<ExpectedCell, { readonly sum: number | null }>): string {
  if (said === undefined || said === null || typeof said !== 'object') return shown(said ?? null);
  if ('oneOf' in said) return [...new Set(said.oneOf)].map(shown).join(' or ');
  if ('not' in said) return 'that there is one';
  if ('from' in said) return said.to === null ? `after ${said.from}` : `between ${said.from} and ${said.to}`;
  return 'atLeast' in said ? `at least ${said.atLeast}` : `about ${said.near}`;
}
