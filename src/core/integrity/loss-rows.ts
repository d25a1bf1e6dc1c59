import { shown } from '../integrity.js';

/** Rows that say again what the log over all runs says of runs that were erased or removed. */
export const LOSS_TABLES = ['erasures', 'removed_runs', 'run_keys'] as const;

/** A row that does not say what the log over all runs says. */
export interface FalseLoss {
  readonly table: (typeof LOSS_TABLES)[number] | 'runs';
  readonly row: string;
  /** Null: the row as a whole. */
  readonly column: string | null;
  readonly what: string;
}

const COLUMNS = ['tenant', 'seq', 'hash', 'actor', 'reason'] as const;

/** Who took something away from a run, why, and where its log ended then. */
interface Taken {
  readonly tenant: string;
  readonly seq: number;
  readonly hash: string;
  readonly actor: string;
  readonly reason: string;
}

/** What rows say of what a run has lost, read in one moment with what the log over all runs says of it. */
export interface StoredLosses {
  readonly runId: string;
  /** The key of its payloads is there. */
  readonly hasKey: boolean;
  readonly entries: readonly (Taken & { readonly index: number; readonly loss: string })[];
  readonly erased: Taken | null;
  readonly removed: Taken | null;
}

/** Rows of a run, which is there, that do not say what the log over all runs says of its erasure or removal. */
export function falseLosses({ runId, hasKey, entries, erased, removed }: StoredLosses): FalseLoss[] {
  const rows: FalseLoss[] = [];
  const found = (table: FalseLoss['table'], column: string | null, what: string): void => {
    rows.push({ table, row: runId, column, what });
  };
  const gone = entries.find(({ loss }) => loss === 'removed');
  if (gone !== undefined) found('runs', null, `it is there, and ${nameOf(gone)} says that the run was removed`);
  if (removed !== null) found('removed_runs', null, 'it says that the run was removed, which is there');
  const erasures = entries.filter(({ loss }) => loss === 'erased');
  const entry = erasures.find(({ seq }) => seq === erased?.seq) ?? erasures[0];
  if (entry === undefined) {
    // Without the key, its payloads are said to be missing.
    if (erased !== null && hasKey)
      found('erasures', null, 'no entry of the log of all runs says that the run was erased');
    return rows;
  }
  if (hasKey) found('run_keys', null, `it is there, and ${nameOf(entry)} says that the run was erased`);
  if (erased === null) {
    found('erasures', null, `it is missing, and ${nameOf(entry)} says that the run was erased`);
    return rows;
  }
  for (const column of COLUMNS)
    if (erased[column] !== entry[column])
      found('erasures', column, `it is ${shown(erased[column])}, and ${nameOf(entry)} says ${shown(entry[column])}`);
  return rows;
}

const nameOf = ({ index }: { readonly index: number }): string => `entry ${index} of the log of all runs`;
