import { shown } from '../integrity.js';
import type { InterruptionReason } from '../interruptions/interruption.js';
import type { PlacedWait } from '../interruptions/wait.js';
import { type JsonValue, sha256 } from '../json.js';
import { EVENT_DATA, type EventKind, type ToldEvent } from '../log/event.js';
import type { RunState } from '../log/state.js';
import { callDigest } from '../runs/call.js';
import type { Usage } from '../runs/run.js';
import { waitFault } from './call-waits.js';
import { COPIES, type CopyName, type FalseRow, falseRows, NO_COPIES, type StoredCopies } from './copied-rows.js';
import type { Cell, Column, StoredRow } from './copied-table.js';
import { LoggedFacts } from './logged-facts.js';

/** What of a row follows from the events of a run that its begin and its decisions have, whatever came between. */
export const AT_BEGIN: { readonly [name in CopyName]?: readonly string[] } = {
  runs: [
    ...['parent_run_id', 'parent_call_id', 'ancestors', 'agent', 'agent_version', 'agent_hash', 'scaffold', 'priority'],
    ...['input', 'grants', 'limits', 'metadata', 'time_left_ms', 'forked_from_run_id', 'forked_from_seq', 'model'],
    ...['stream', 'session_id', 'history_items', 'erased_at', 'task_id'],
  ],
  interruptions: [
    ...['tenant', 'agent', 'kind', 'status', 'call_id', 'tool', 'reason', 'reason_text', 'verdicts', 'digest'],
    ...['required_approvals', 'wait', 'event_name', 'origin_run_id'],
  ],
  decisions: [
    ...['interruption_id', 'run_id', 'tenant', 'verdict', 'actor', 'message', 'value', 'vote', 'edit', 'always'],
  ],
  standing_decisions: [
    ...['tenant', 'interruption_id', 'agent', 'tool', 'tool_version', 'scope', 'exact', 'actor', 'revoked_by'],
  ],
};

/** A row as the driver gives it, in the way in which rows are compared. */
export function storedRow(
  name: CopyName,
  row: object,
  of: { readonly id: string; readonly tenant: string },
): StoredRow {
  const columns: { readonly [column: string]: Column<never> } = COPIES[name].columns;
  const cells = Object.entries(row).map(([column, value]): [string, Cell] => {
    const rule = columns[column];
    const isLarge = rule !== undefined && 'large' in rule && rule.large === true;
    return [column, isLarge && typeof value === 'string' ? sha256(value) : cellOf(value)];
  });
  return { ...Object.fromEntries(cells), tenant_of_run: of.tenant, run_of_row: of.id };
}

function cellOf(value: unknown): Cell {
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? String(value) : value.toISOString();
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean' ? value : null;
}

/** What a segment compares beside that: a view does not read the events that say it. */
const AT_SEGMENT = { ...AT_BEGIN, runs: [...(AT_BEGIN.runs ?? []), 'recorded_seq', 'rebuilt_segment'] };

/** The counters of a run as a segment begins with them. */
interface BeginCounts {
  readonly id: string;
  readonly segment: number;
  readonly turns: number;
  readonly forked: boolean;
  readonly rebuilt: boolean;
  /** Tokens of the run alone, and of the runs below it. */
  readonly own: Usage;
  readonly below: Usage;
  /** What the log has of the segment before the segment begins. */
  readonly recorded: { readonly turns: number; readonly usage: Usage };
}

const TOKENS = { inputTokens: 'input_tokens', outputTokens: 'output_tokens', totalTokens: 'total_tokens' } as const;

/** The first counter of a limit that is not what the state after the last event says; null: all are. */
export function falseCount(run: BeginCounts, state: RunState): FalseRow | null {
  const { id, segment, own, below, recorded } = run;
  const of = (column: string, is: number, said: number | string): FalseRow => ({
    ...{ table: 'runs', row: id, column, what: `it is ${is}, and the log says ${said}` },
  });
  const isInside = state.segment === segment && (segment === 0 || run.forked || run.rebuilt);
  if (!isInside && state.segment !== segment - 1) return of('segment', segment, state.segment + 1);
  const turns = state.turns - recorded.turns;
  if (run.turns !== turns) return of('turns', run.turns, turns);
  for (const [name, column] of Object.entries(TOKENS) as [keyof Usage, string][]) {
    const logged = state.usage[name] - recorded.usage[name];
    // What runs below have used may be in the row before the log has it.
    if (own[name] > logged || own[name] + below[name] < logged) return of(column, own[name], logged);
  }
  return null;
}

/** The first row that a segment begins with and that does not say what the log says; null: all do. */
export function falseAtBegin(
  facts: LoggedFacts,
  runId: string,
  rows: Pick<StoredCopies, 'runs' | 'interruptions' | 'decisions' | 'standing_decisions'>,
): FalseRow | null {
  const [first] = falseRows(facts, runId, { ...NO_COPIES, ...rows }, 1, AT_SEGMENT);
  return first ?? null;
}

/** An interrupted call whose row has other arguments than its digest. */
export function argumentsFault(
  { id, run_id: runId, call_id: callId, tool, tool_version: toolVersion, digest, ...row }: InterruptedCall,
  facts: LoggedFacts,
): FalseRow | null {
  const policyVersion = facts.created?.policyVersion;
  // Older builds kept no version, and only approvals are bound to arguments.
  if (row.kind !== 'approval' || callId === null || toolVersion === '' || policyVersion === undefined) return null;
  const args = parsed(row.arguments);
  const call = { runId, callId, tool: tool ?? '', toolVersion, policyVersion };
  if (args !== undefined && callDigest({ ...call, arguments: args }) === digest) return null;
  const what = `they are ${shown(row.arguments)}, and the digest of the call is that of others`;
  return { table: 'interruptions', row: id, column: 'arguments', what };
}

/** Undefined: it is no JSON. */
function parsed(text: string): JsonValue | undefined {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

interface InterruptedCall {
  readonly id: string;
  readonly run_id: string;
  readonly kind: string;
  readonly call_id: string | null;
  readonly tool: string | null;
  readonly tool_version: string;
  readonly arguments: string;
  readonly digest: string;
}

/** What a segment goes on with of a call that its run has waited for: its row, as nothing but the log can have left it. */

/** What was asked about a call, as its row says it, which was compared with the log. */
export interface AskedCall {
  readonly callId: string;
  readonly reason: InterruptionReason;
  /** Null: it is asked whether the call may run. */
  readonly wait: PlacedWait | null;
  /** Digest of what its tool keeps, as the log has it; undefined: the log does not say. */
  readonly memo?: string | null | undefined;
}

/** The row of a call when a segment begins. */
export interface CallAtBegin {
  readonly ended: boolean;
  /** What it waits for, as the column has it. */
  readonly waiting: string | null;
  /** The run that a fork took it over from. */
  readonly origin: string | null;
}

/**
 * The first call whose row is not as the pause before has left it; null: all are. A call that was to be approved has none, one that waits has what
 * it waits for, and none of them has an outcome: the body of a call would not run by a decision, or under another one.
 */
export function falseCall(asked: readonly AskedCall[], rows: ReadonlyMap<string, CallAtBegin>): FalseRow | null {
  for (const one of asked) {
    const row = rows.get(one.callId);
    const found = faultOf(one, row);
    if (found !== null) return { table: 'calls', row: one.callId, ...found };
  }
  return null;
}

function faultOf(
  { reason, wait, memo }: AskedCall,
  row: CallAtBegin | undefined,
): Pick<FalseRow, 'column' | 'what'> | null {
  if (row === undefined)
    return wait === null ? null : { column: null, what: 'the row of a call that waits is missing' };
  if (row.ended) return { column: 'outcome', what: 'it has one, and the log says that the call has not ended' };
  if (wait !== null) {
    return waitFault(row.waiting, { wait, memo });
  }
  // A fork asks again about a call that was begun in its source.
  const begun = reason === 'unknown_effect' || row.origin !== null;
  return begun ? null : { column: null, what: 'the log says that the call has not begun' };
}

/** The column of a run that is over that does not say what its log says; null: all do. Looks at an event at a time. */
export function* falseRun(
  row: { readonly id: string; readonly tenant: string },
  log: readonly ToldEvent[],
): Generator<void, FalseRow | null> {
  const facts = new LoggedFacts();
  for (const { seq, kind, at, data } of log) {
    if (!Object.hasOwn(EVENT_DATA, kind)) continue;
    const parsed = EVENT_DATA[kind as EventKind].safeParse(data);
    if (parsed.success) facts.take(kind as EventKind, parsed.data as never, { seq, at });
    yield;
  }
  const [first] = falseRows(facts, row.id, { ...NO_COPIES, runs: [storedRow('runs', row, row)] }, 1, {});
  return first ?? null;
}

/** Whether a definition is the one that its hash is of. */
export const isDefinition = (hash: string, definition: string): boolean => sha256(definition) === hash;
