import { type AllowedElsewhere, allowedBy } from '../../src/core/interruptions/allowed-elsewhere.js';
import type { ArgumentEdit, DecisionView, InterruptionReason } from '../../src/core/interruptions/interruption.js';
import type { StandingDecisionView, StandingRule } from '../../src/core/interruptions/standing.js';
import type { PlacedWait } from '../../src/core/interruptions/wait.js';
import type { JsonValue } from '../../src/core/json.js';
import type { DecisionRow, InterruptionRow } from '../../src/storage/interruptions/interruption-rows.js';
import { interruptionViewOf, waitOf } from '../../src/storage/interruptions/interruptions.js';
import { standingViewOf } from '../../src/storage/interruptions/standing-decisions.js';
import { type ResumedWork, resumeWork } from '../../src/storage/runs/resume-work.js';
import { limitsOf, type RunRow } from '../../src/storage/runs/run-row.js';
import { readRun, startWork } from '../../src/storage/runs/runs.js';
import { tellBegun } from '../../src/storage/tasks/task-events.js';
import { EarlierCalls } from '../calls/earlier-calls.js';
import type { StepContext } from '../context.js';
import { withDatabaseRetry } from '../database-retry.js';
import type { BeginRows } from './compare-begin.js';
import { timeLeftMs } from './time-left.js';

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

/**
 * Makes the run `running` and says what its segment starts from. Executing it again changes nothing. Only the execution that
 * records what it gives goes on with what else it has read.
 */
export function beginSegment(
  { knex, now, worker }: StepContext,
  runId: string,
  segment: number,
): Promise<{ readonly begun: SegmentStart; readonly loaded: LoadedSegment }> {
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
      await tellBegun(knex, runId, worker.id);
    return begunWith(work, startMs);
  });
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

function begunWith(work: ResumedWork, startMs: number) {
  const { run, state } = work;
  const loaded: LoadedSegment = { run, earlier: new EarlierCalls(work.callIds), state, rows: work };
  return { begun: run === undefined ? ({ type: 'stale' } as const) : begunOf(run, work, startMs), loaded };
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
  };
}

/** What was decided of interruptions, in their order; those that nobody decided are left out. */
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
