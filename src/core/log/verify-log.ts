import { z } from 'zod';
import { COMPARED_TABLES, type FoundRow } from '../integrity/copied-rows.js';
import { digestOf, sha256 } from '../json.js';
import { isOver, type RunStatus } from '../runs/run.js';
import type { LogCheck } from './check-log.js';
import { type Broken, broken, type Fault, fault } from './invariant.js';
import { stateHash } from './state.js';

/** What `verify` says: the first broken invariant, or how far the log is whole. */
export const verifyReport = z
  .object({
    runId: z.string(),
    ok: z.boolean(),
    from: z.int().describe('The first event that was checked; those before were taken as the place to begin at.'),
    events: z.int().describe('Up to this event the log is whole.'),
    headHash: z.string(),
    complete: z.boolean().describe('Whether the log ends with a terminal event.'),
    states: z
      .object({ fit: z.int(), wrong: z.array(z.int()) })
      .describe('States that are kept of the log: how many fit, and at which events one does not and is not used.'),
    payloads: z.enum(['checked', 'erased']).describe('Of a run whose key is erased, only the chain is checked.'),
    broken: broken.nullable().describe('The first broken event, and which invariant; null when the log is whole.'),
    rows: z
      .array(
        z.object({
          table: z.enum(COMPARED_TABLES),
          row: z.string().describe('The id of the row; of the tables runs and agents, that of the run.'),
          column: z.string().nullable().describe('Null: the row is missing, or the log knows no such row.'),
          what: z.string(),
        }),
      )
      .describe('Rows that do not say what the log says, at most 20. Empty where not all events were read.'),
  })
  .meta({ id: 'VerifyReport' });
export type VerifyReport = z.infer<typeof verifyReport>;

/** Which events of a log are verified; left out: from the first, to the last. */
export const verifyRange = z
  .strictObject({ from: z.int().min(1).exactOptional(), to: z.int().min(1).exactOptional() })
  .meta({ id: 'VerifyRange' });
export type VerifyRange = z.infer<typeof verifyRange>;

/** Where the head of a run says that its log ends. */
export interface ClaimedEnd {
  readonly seq: number;
  readonly hash: string;
  readonly stateHash?: string;
  /** The state as it is stored. */
  readonly state?: string;
}

/** What the row of a run says of its end. */
export interface ClaimedResult {
  readonly status: RunStatus;
  /** Canonical JSON. */
  readonly output: string | null;
  readonly error: string | null;
  readonly cancelReason: string | null;
}

/** Whether a log that was gone through ends where its head says; `beyond`: it has events after that. */
export function endFault({ head }: LogCheck, claimed: ClaimedEnd, beyond: boolean, erased: boolean): Fault | null {
  if (claimed.seq !== head.seq || claimed.hash !== head.hash)
    return fault(
      'log_end',
      `the run claims ${claimed.seq} events, the log has ${head.seq}: its end is missing or was replaced`,
    );
  if (beyond) return fault('log_end', `the run claims ${claimed.seq} events, and the log has more`);
  if (claimed.stateHash !== undefined && claimed.stateHash !== head.stateHash)
    return fault('log_end', 'the head of the run has the hash of another state');
  if (claimed.state !== undefined && !erased && sha256(claimed.state) !== stateHash(head.state))
    return fault('log_end', 'the head of the run has another state than the log');
  return null;
}

/** Whether the row of a run says of its end what its log says. A run that goes on may be ahead of its row. */
export function rowFault(check: LogCheck, row: ClaimedResult, erased: boolean): Fault | null {
  if (!isOver(row.status)) return null;
  const { status, result } = check.head.state;
  if (!check.isOver) return fault('run_row', `the run is ${row.status}, and its log does not end`);
  // Of an erased run, the log still says how it ended.
  if (erased) {
    const ended = check.lastKind === null || check.lastKind === `run.${row.status}`;
    return ended ? null : fault('run_row', `the run is ${row.status}, and its log ends with ${check.lastKind}`);
  }
  if (status !== row.status) return fault('run_row', `the run is ${row.status}, and its log ends as ${status}`);
  return result === resultOf(row) ? null : fault('run_row', 'the run has another result than its log');
}

function resultOf({ status, output, error, cancelReason }: ClaimedResult): string | null {
  if (status === 'completed') return output === null ? null : sha256(output);
  if (status === 'cancelled') return digestOf(cancelReason);
  try {
    return digestOf(z.object({ code: z.string() }).parse(JSON.parse(error ?? '')).code);
  } catch {
    return null;
  }
}

/** The report on a log that was gone through up to its end or its first broken event, and on the rows beside it. */
export function reportOn(
  check: LogCheck,
  from: number,
  wrong: Broken | null,
  { payloads, states, rows }: Pick<VerifyReport, 'payloads' | 'states'> & { readonly rows: readonly FoundRow[] },
): VerifyReport {
  const { runId, seq: events, hash: headHash } = check.head;
  const found = wrong ?? rowsBroken(events, rows);
  const complete = found === null && check.isOver;
  return {
    ...{ runId, ok: found === null, from, events, headHash, complete, states, payloads, broken: found },
    rows: [...rows],
  };
}

/** What is broken by rows; null: none is false. */
export function rowsBroken(seq: number, [first]: readonly FoundRow[]): Broken | null {
  if (first === undefined) return null;
  const { table, row, column, what } = first;
  const where = column === null ? `the row ${row} of ${table}` : `${column} of the row ${row} of ${table}`;
  return { seq, invariant: 'copied_rows', what: `${where}: ${what}` };
}
