import { AsyncLocalStorage } from 'node:async_hooks';
import type { Knex } from 'knex';
import { HoldfastError } from '../../src/core/errors/errors.js';
import {
  type AskedCall,
  argumentsFault,
  falseAtBegin,
  falseCall,
  falseCount,
  storedRow,
} from '../../src/core/integrity/begin-rows.js';
import type { FalseRow } from '../../src/core/integrity/copied-rows.js';
import type { LoggedFacts } from '../../src/core/integrity/logged-facts.js';
import type { ArgumentEdit, DecisionView, InterruptionReason } from '../../src/core/interruptions/interruption.js';
import type { StandingDecisionView, StandingRule } from '../../src/core/interruptions/standing.js';
import { type AllowedElsewhere, allowedBy } from '../../src/core/interruptions/standing.js';
import type { PlacedWait } from '../../src/core/interruptions/wait.js';
import type { JsonValue } from '../../src/core/json.js';
import { EMPTY_STATE } from '../../src/core/log/state.js';
import { addUsage, NO_USAGE, type Usage } from '../../src/core/runs/run.js';
import { msOf } from '../../src/storage/database/legible-rows.js';
import { beginFacts, headState } from '../../src/storage/integrity/begin-events.js';
import type { DecisionRow, InterruptionRow } from '../../src/storage/interruptions/interruption-rows.js';
import { interruptionViewOf, waitOf } from '../../src/storage/interruptions/interruptions.js';
import { type StandingThen, standingViewOf } from '../../src/storage/interruptions/standing-decisions.js';
import { callsAtBegin } from '../../src/storage/runs/calls.js';
import { limitsOf, type RunRow } from '../../src/storage/runs/run-row.js';
import { readRun, startWork } from '../../src/storage/runs/runs.js';
import { type ResumedWork, resumeWork } from '../../src/storage/runs/runs-to-resume.js';
import { recordTaskStarted } from '../../src/storage/tasks/task-events.js';
import { EarlierCalls } from '../calls/earlier-calls.js';
import type { StepContext } from '../context.js';
import { withDatabaseRetry } from '../database-retry.js';

/** An interruption that the segment before ended with, as it was settled. */
export interface SettledInterruption {
  readonly interruptionId: string;
  readonly callId: string;
  readonly tool: string;
  readonly agent: string;
  readonly arguments: JsonValue;
  readonly digest: string;
  readonly reason: InterruptionReason;
  readonly verdict: DecisionView['verdict'];
  readonly message: string | null;
  readonly value: JsonValue;
  readonly actor: string;
  /** Which wait of the call was settled; null for approvals. */
  readonly wait: PlacedWait | null;
  /** Absent in steps that were recorded before there were edits. */
  readonly edit?: ArgumentEdit | null;
  /** Who decided so, in a run that this one was forked from; null or absent: it was decided here, or executes nothing. */
  readonly allowedElsewhere?: AllowedElsewhere | null;
}

/** What a segment starts from. `stale`: another segment or the end of the run came first; there is nothing to do. */
export type SegmentStart =
  | { readonly type: 'stale' }
  | {
      readonly type: 'begun';
      readonly turns: number;
      readonly totalTokens: number;
      /** When the run's time is over, in milliseconds since 1970; null: no limit. What a crash takes counts. */
      readonly deadlineAtMs: number | null;
      readonly settled: readonly SettledInterruption[];
      /**
       * The standing decisions that hold in this segment, whatever is revoked meanwhile. Absent in steps that were recorded
       * before there were any.
       */
      readonly standing?: readonly StandingRule[];
      /** The run was cancelled while it waited: its segment keeps what the task asks for, and ends it. Absent: it was not. */
      readonly cancelled?: true;
    };

/** What an execution has at hand when its segment has begun. */
export interface LoadedSegment {
  /** Undefined: there is none. */
  readonly run: RunRow | undefined;
  readonly earlier: EarlierCalls;
  /** The stored state that the segment starts from, where it was read already. */
  readonly state: string | null;
  /** What was decided, as it was read: none where the begin was recorded before. */
  readonly rows: BeginRows;
}

/** A segment that has begun. */
export interface Begun {
  readonly begun: SegmentStart;
  readonly loaded: LoadedSegment;
}

/** What the transaction that took a segment has begun for its execution, until that begins. */
const aheadOf = new AsyncLocalStorage<{ segment: Begun | null }>();

/** Lets the execution in `work` begin with a segment as `beginTaken` gave it. */
export const executeBegun = <T>(segment: Begun, work: () => T): T => aheadOf.run({ segment }, work);

/** Whether the segment of this execution was begun before it, and it has done nothing yet. */
export const isBegunAhead = (): boolean => (aheadOf.getStore()?.segment ?? null) !== null;

/** Gives it once: what an execution after a crash has at hand it reads itself. */
function takeBegun(): Begun | null {
  const store = aheadOf.getStore();
  const found = store?.segment ?? null;
  if (store !== undefined) store.segment = null;
  return found;
}

/**
 * Makes the run `running` and says what its segment starts from. Executing it again changes nothing. Only the execution that
 * records what it gives goes on with what else it has read.
 */
export async function beginSegment(ctx: StepContext, runId: string, segment: number): Promise<Begun> {
  const { knex, now, worker } = ctx;
  const ahead = takeBegun();
  if (ahead?.loaded.run?.id === runId && ahead.loaded.run.segment === segment) return ahead;
  return withDatabaseRetry(async () => {
    const startMs = now();
    const start = { runId, segment, at: new Date(startMs) };
    const fresh = segment === 0 ? await startWork(knex, start) : undefined;
    const isNew = fresh !== undefined && fresh.recorded_seq === null;
    // A segment begins when everything that it was waiting for is settled: what is read beside it does not change any more.
    const isBare = segment === 0 && (fresh === undefined || isNew);
    const work = isBare ? { ...NOTHING, run: fresh } : await resumeWork(knex, start);
    // Of a task whose attempt goes on from another one the first segment is not 0.
    if (work.run?.task_id != null && (segment === 0 || work.run.recorded_seq !== null))
      await recordTaskStarted(knex, runId, worker.id);
    return begunWith(work, startMs);
  });
}

/** The same for a segment after the first, in the transaction that takes it for this process. */
export async function beginTaken(
  { now }: StepContext,
  trx: Knex.Transaction,
  { runId, segment }: { readonly runId: string; readonly segment: number },
): Promise<Begun> {
  const startMs = now();
  return begunWith(await resumeWork(trx, { runId, segment, at: new Date(startMs) }), startMs);
}

/** The same for an execution that finds the begin of its segment recorded. */
export const reloadSegment = async ({ knex }: StepContext, runId: string): Promise<LoadedSegment> => ({
  run: await withDatabaseRetry(() => readRun(knex, runId)),
  earlier: new EarlierCalls(null),
  state: null,
  rows: NOTHING,
});

/** Nothing of the run was done before, here or in a run that it was forked from: there is nothing to go on with. */
const NOTHING = { interruptions: [], decisions: [], standing: [], callIds: [], state: null } as const;

function begunWith(work: ResumedWork, startMs: number): Begun {
  const { run, state } = work;
  const loaded: LoadedSegment = { run, earlier: new EarlierCalls(work.callIds), state, rows: work };
  return { begun: run === undefined ? { type: 'stale' } : begunOf(run, work, startMs), loaded };
}

function begunOf(run: RunRow, work: ResumedWork, startMs: number): SegmentStart {
  const left = timeLeftMs({ ...run, segment_started_at: null }, limitsOf(run).maxDurationMs, startMs);
  return {
    type: 'begun',
    turns: run.turns,
    totalTokens: Number(run.total_tokens) + Number(run.child_total_tokens),
    deadlineAtMs: left === null ? null : startMs + left,
    settled: settledOf(work.interruptions, work.decisions),
    standing: work.standing.map(standingViewOf).flatMap((one) => (one.revokedAt === null ? [ruleOf(one)] : [])),
    ...(isOnlyToKeep(run) && { cancelled: true as const }),
  };
}

/** A segment that takes the place of another one first goes on with what that has done. */
const isOnlyToKeep = (run: RunRow): boolean =>
  run.cancel_requested_at !== null && run.task_id !== null && run.rebuilt_segment !== run.segment;

/** What was decided of interruptions, in their order; those that no one decided are left out. */
export function settledOf(rows: readonly InterruptionRow[], decisions: readonly DecisionRow[]): SettledInterruption[] {
  return rows.flatMap((row): SettledInterruption[] => {
    const view = interruptionViewOf(row, decisions);
    const decision = view.decisions.at(-1);
    if (decision === undefined || view.status === 'pending') return [];
    const { verdict, message, value, actor, edit } = decision;
    const about = {
      callId: view.callId ?? '',
      tool: view.tool ?? '',
      agent: view.agent,
      arguments: view.arguments,
      digest: view.digest,
    };
    const decided = { reason: view.reason.code, verdict, message, value, actor, edit, wait: waitOf(row) };
    const elsewhere = allowedBy(row.origin_run_id, view.reason.code, view.decisions);
    return [{ interruptionId: view.id, ...about, ...decided, allowedElsewhere: elsewhere }];
  });
}

/** The first event of a segment. It follows from a decision, the cut before it, or the start of the run. */
export function startOf(segment: number, settled: readonly SettledInterruption[]) {
  const decisions = settled.map(({ interruptionId }) => interruptionId);
  const before = segment === 0 ? 'created' : `${segment - 1}:cut`;
  const decided = decisions.at(-1);
  return {
    key: `${segment}:0`,
    parentKey: decided === undefined ? before : `decision:${decided}`,
    kind: 'segment.started',
    data: { segment, decisions },
  } as const;
}

const ruleOf = ({ id, agent, tool, toolVersion, scope, exact, actor }: StandingDecisionView): StandingRule => ({
  ...{ id, agent, tool, toolVersion, scope, exact, actor },
});

/** The rows that a segment begins with. */
export interface BeginRows {
  readonly interruptions: readonly InterruptionRow[];
  readonly decisions: readonly DecisionRow[];
  readonly standing: readonly StandingThen[];
}

/**
 * Compares what a segment begins with (what its run was started with, and what was decided) with the log. Where they differ, gives
 * the error that fails the run before anything of it executes; null: they are the same.
 */
export async function compareBegin(
  { knex }: Pick<StepContext, 'knex'>,
  run: RunRow,
  rows: BeginRows,
): Promise<HoldfastError | null> {
  const keys = [
    `${run.segment - 1}:rebuilt`,
    ...(run.rebuilt_segment === null ? [] : [`${run.rebuilt_segment - 1}:rebuilt`]),
    ...rows.interruptions.map(({ id }) => `interruption:${id}`),
    ...rows.decisions.map(({ interruption_id: id }) => `decision:${id}`),
    ...rows.decisions.map(({ interruption_id: id, vote }) => `vote:${id}:${vote}`),
    ...rows.standing.flatMap(({ id }) => [`standing:${id}`, `standing:${id}:revoked`]),
  ];
  // What is revoked after its row was read is no fault of the row: of all else nothing changes any more.
  const upTo = rows.standing[0]?.log_seq;
  const read = await withDatabaseRetry(() => beginFacts(knex, run.id, [...new Set(keys)], upTo));
  if ('broken' in read) return refused(run.id, read.broken);
  const { facts } = read;
  const wrong =
    falseAtBegin(facts, run.id, {
      runs: [storedRow('runs', run, run)],
      interruptions: rows.interruptions.map((row) => storedRow('interruptions', row, run)),
      decisions: rows.decisions.map((row) => storedRow('decisions', row, run)),
      standing_decisions: rows.standing.map((row) => storedRow('standing_decisions', row, run)),
    }) ??
    rows.interruptions.map((row) => argumentsFault(row, facts)).find((one) => one !== null) ??
    (await withDatabaseRetry(() => changedCall(knex, run, rows.interruptions, facts)));
  if (wrong === null) return null;
  const { table, row, column, what } = wrong;
  return refused(run.id, `${column === null ? '' : `${column} of `}the row ${row} of ${table}: ${what}`);
}

/** The first call that the run has waited for and whose row is not as the pause has left it; null: there is none. */
async function changedCall(
  knex: StepContext['knex'],
  run: RunRow,
  interruptions: readonly InterruptionRow[],
  facts: LoggedFacts,
): Promise<FalseRow | null> {
  // A segment that takes the place of another one goes on with what that has done by then.
  if (run.rebuilt_segment === run.segment) return null;
  const asked = interruptions.flatMap((row): AskedCall[] => {
    const { call_id: callId, origin_run_id: origin, reason } = row;
    const memo = facts.interruptions.get(row.id)?.asked.memo;
    return callId === null || origin !== null ? [] : [{ callId, reason, wait: waitOf(row), memo }];
  });
  if (asked.length === 0) return null;
  const ids = asked.map(({ callId }) => callId);
  return falseCall(asked, await callsAtBegin(knex, run.id, ids));
}

/**
 * Compares the counters that keep the limits of a run with the state after the last event of its log, when a segment begins for
 * the first time. `recorded`: what the log has of the segment by then. Gives the error that fails the run; null: they are the same.
 */
export async function compareCounts(
  { knex }: Pick<StepContext, 'knex'>,
  run: RunRow,
  recorded: ReadonlyMap<number, { readonly usage: Usage }>,
): Promise<HoldfastError | null> {
  const isNew = run.segment === 0 && run.forked_from_run_id === null;
  const state = isNew ? EMPTY_STATE : await withDatabaseRetry(() => headState(knex, run.id));
  if (state === null) return refused(run.id, 'the head of its log is not what its last event made of the state');
  const answers = [...recorded.values()];
  const wrong = falseCount(
    {
      ...{ id: run.id, segment: run.segment, turns: run.turns },
      ...{ forked: run.forked_from_run_id !== null, rebuilt: run.rebuilt_segment === run.segment },
      own: usageIn(run.input_tokens, run.output_tokens, run.total_tokens),
      below: usageIn(run.child_input_tokens, run.child_output_tokens, run.child_total_tokens),
      recorded: {
        turns: answers.length,
        usage: answers.reduce((sum, { usage }) => addUsage(sum, usage), NO_USAGE),
      },
    },
    state,
  );
  if (wrong === null) return null;
  return refused(run.id, `${wrong.column} of the row ${wrong.row} of ${wrong.table}: ${wrong.what}`);
}

const usageIn = (input: string, output: string, total: string): Usage => ({
  ...{ inputTokens: Number(input), outputTokens: Number(output), totalTokens: Number(total) },
});

const refused = (runId: string, what: string): HoldfastError =>
  new HoldfastError('row_changed', `Nothing of run ${runId} was executed: ${what}.`);

/**
 * What is left of a run's time, in milliseconds: of its own bound, and of what the run above it had left when it was started.
 * What runs below it worked counts. Null: no bound.
 */
export function timeLeftMs(run: RunRow, maxDurationMs: number | null, nowMs: number): number | null {
  const inherited = run.time_left_ms === null ? null : Number(run.time_left_ms);
  const bound =
    maxDurationMs === null || inherited === null ? (maxDurationMs ?? inherited) : Math.min(maxDurationMs, inherited);
  if (bound === null) return null;
  const present = Math.max(0, nowMs - (msOf(run.segment_started_at) ?? nowMs));
  return Math.max(0, bound - Number(run.active_ms) - Number(run.child_active_ms) - present);
}
