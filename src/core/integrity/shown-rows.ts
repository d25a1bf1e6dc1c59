import type { Integrity } from '../integrity.js';
import { sha256 } from '../json.js';
import type { RunState } from '../log/state.js';
import { isOver, type RunStatus, type Usage } from '../runs/run.js';
import { AT_BEGIN } from './begin-rows.js';
import { COPIES, type CopyName, type FalseRow, falseRows, NO_COPIES } from './copied-rows.js';
import type { StoredRow } from './copied-table.js';
import type { LoggedFacts } from './logged-facts.js';

const FALSE_MAX = 20;
const AT_END = [
  ...['status', 'output', 'error', 'cancel_reason', 'cancel_requested_at', 'created_at', 'updated_at', 'completed_at'],
];
const OF_RUN = { runs: [...(AT_BEGIN.runs ?? []), ...AT_END] };
/** How many segments the run had then, its log says only as a whole. */
const evidenceOf = (name: CopyName): string[] =>
  Object.entries(COPIES[name].columns).flatMap(([column, rule]) =>
    'because' in rule || column === 'segment' ? [] : [column],
  );
const OF_START = { runs: AT_BEGIN.runs ?? [] };
const OF_INTERRUPTION = {
  interruptions: evidenceOf('interruptions'),
  decisions: evidenceOf('decisions'),
};

/** What rows say of a run beside its own columns. */
export interface ShownRun {
  readonly id: string;
  readonly status: RunStatus;
  /** With that of the runs below. */
  readonly usage: Usage;
  readonly stored: StoredRow;
  /** Of what is pending by its rows. */
  readonly pending: readonly string[];
  /** Its own, in nano-dollars; null: a price is not known. */
  readonly cost: string | null;
  /** What its charges add up to. */
  readonly charged: string | null;
}

/** What of a run does not say what the log says, by its first events, its last one and the state after that. */
export function falseInRun(run: ShownRun, facts: LoggedFacts, state: RunState): Integrity {
  facts.endsIn(state);
  const found: FalseRow[] = falseRows(facts, run.id, { ...NO_COPIES, runs: [run.stored] }, FALSE_MAX, OF_RUN);
  return [...found, ...falsePending(run, state), ...falseSums(run, state)].slice(0, FALSE_MAX);
}

function falsePending({ status, pending }: ShownRun, state: RunState): Integrity {
  if (status !== 'paused') return [];
  const logged = Object.keys(state.pending);
  const of = (row: string, what: string) => ({ table: 'interruptions', row, column: 'status', what });
  return [
    ...pending
      .filter((id) => !logged.includes(id))
      .map((id) => of(id, 'it is pending, and by the log it is settled, or was never asked for')),
    ...logged.filter((id) => !pending.includes(id)).map((id) => of(id, 'it is not pending, and by the log it is')),
  ];
}

function falseSums({ id, status, stored, usage, cost, charged }: ShownRun, state: RunState): Integrity {
  const found: { table: string; row: string; column: string; what: string }[] = [];
  const of = (column: string, what: string) => found.push({ table: 'runs', row: id, column, what });
  for (const [name, column] of Object.entries(TOKENS) as [keyof Usage, string][]) {
    const [all, below, logged] = [usage[name], Number(stored[`child_${column}`] ?? 0), state.usage[name]];
    if (!isSum(status, { all, below, logged }))
      of(column, `with the runs below it is ${all}, and the log says ${logged}`);
  }
  const turns = Number(stored['turns'] ?? 0);
  // A turn that got no answer counts, and ends the run.
  if (isAtRest(status) ? turns !== state.turns : !isOver(status) && turns > state.turns)
    of('turns', `it is ${turns}, and the log says ${state.turns}`);
  const segment = Number(stored['segment'] ?? 0);
  const segments = status === 'paused' ? [state.segment + 1] : [state.segment, state.segment + 1];
  if (!segments.includes(segment)) of('segment', `it is ${segment}, and the log says ${segments.join(' or ')}`);
  if (cost !== null && charged !== cost && isOver(status))
    of('cost_nano_usd', `it is ${cost}, and the charges of the run add up to ${charged ?? 'what is not known'}`);
  return found;
}

/** Whether the row of a run counts what its log counts. A run that ended otherwise may have left its last segment out. */
const isAtRest = (status: RunStatus): boolean => status === 'completed' || status === 'paused';

/**
 * Whether the tokens of a run with those below it may be what its log adds up. One that is at work has the sums of its segments that
 * are over; what runs below it have used comes to be known when their calls do, and of one that did not complete it may never be.
 */
function isSum(
  status: RunStatus,
  { all, below, logged }: { readonly all: number; readonly below: number; readonly logged: number },
): boolean {
  if (status === 'completed' || (status === 'paused' && below === 0)) return all === logged;
  return all - below <= logged && (status !== 'paused' || all >= logged);
}

const TOKENS = { inputTokens: 'input_tokens', outputTokens: 'output_tokens', totalTokens: 'total_tokens' } as const;

/** What of an interruption, of what was said on it, and of what its run was started with does not say what the log says. */
export const falseInInterruption = (
  runId: string,
  facts: LoggedFacts,
  rows: { readonly run: StoredRow; readonly interruption: StoredRow; readonly decisions: readonly StoredRow[] },
): Integrity =>
  falseRows(
    facts,
    runId,
    {
      ...NO_COPIES,
      runs: [rows.run],
      interruptions: [rows.interruption],
      decisions: rows.decisions,
    },
    FALSE_MAX,
    { ...OF_START, ...OF_INTERRUPTION },
  );

/** Whether the state that is stored with the end of a log is that of its last event. */
export const isStateOf = (
  head: { readonly seq: number; readonly hash: string; readonly state: string },
  last: { readonly seq: number; readonly hash: string; readonly stateHashAfter: string } | undefined,
): boolean =>
  last !== undefined && last.seq === head.seq && last.hash === head.hash && sha256(head.state) === last.stateHashAfter;
