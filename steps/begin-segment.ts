import type { ArgumentEdit, DecisionView, InterruptionReason } from '../src/core/interruption.js';
import type { JsonValue } from '../src/core/json.js';
import type { StandingDecisionView, StandingRule } from '../src/core/standing.js';
import type { PlacedWait } from '../src/core/wait.js';
import {
  type DecisionRow,
  decisionsOfSegment,
  type InterruptionRow,
  interruptionsOfSegment,
  interruptionViewOf,
  waitOf,
} from '../src/storage/interruptions.js';
import { startWork } from '../src/storage/runs.js';
import { standingOfRun } from '../src/storage/standing-decisions.js';
import { patiently } from './patience.js';
import { timeLeftMs } from './time-left.js';
import type { World } from './world.js';

/** An interruption that the segment before ended with, as it was settled. */
export interface Settled {
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
}

/** What a segment starts from. `stale`: another segment or the end of the run came first; there is nothing to do. */
export type Begun =
  | { readonly type: 'stale' }
  | {
      readonly type: 'begun';
      readonly turns: number;
      readonly totalTokens: number;
      /** When the run's time is over, in milliseconds since 1970; null: no limit. What a crash takes counts. */
      readonly deadlineAtMs: number | null;
      readonly settled: readonly Settled[];
      /**
       * The standing decisions that hold in this segment, whatever is revoked meanwhile. Absent in steps that were recorded
       * before there were any.
       */
      readonly standing?: readonly StandingRule[];
    };

export interface Beginning {
  readonly runId: string;
  readonly segment: number;
  /** Whether nothing of the run was done before, here or in a run that it was forked from: there is nothing to go on with. */
  readonly isNew: boolean;
  readonly maxDurationMs: number | null;
}

/** Makes the run `running` and says what its segment starts from. Executing it again changes nothing. */
export function beginSegment(world: World, { runId, segment, isNew, maxDurationMs }: Beginning): Promise<Begun> {
  return patiently(async () => {
    const { knex } = world;
    const now = world.now();
    // A segment begins when everything that it was waiting for is settled: none of this changes any more.
    const [run, interruptions, decisions, standing] = await Promise.all([
      startWork(knex, { runId, segment, at: new Date(now) }),
      isNew ? [] : interruptionsOfSegment(knex, runId, segment),
      isNew ? [] : decisionsOfSegment(knex, runId, segment),
      isNew ? [] : standingOfRun(knex, runId),
    ]);
    if (run === undefined) return { type: 'stale' };
    const left = timeLeftMs({ ...run, segment_started_at: null }, maxDurationMs, now);
    return {
      type: 'begun',
      turns: run.turns,
      totalTokens: Number(run.total_tokens) + Number(run.child_total_tokens),
      deadlineAtMs: left === null ? null : now + left,
      settled: settledOf(interruptions, decisions),
      standing: standing.flatMap((one) => (one.revokedAt === null ? [ruleOf(one)] : [])),
    };
  });
}

/** What was decided of interruptions, in their order; those that nobody decided are left out. */
export function settledOf(rows: readonly InterruptionRow[], decisions: readonly DecisionRow[]): Settled[] {
  return rows.flatMap((row): Settled[] => {
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
    return [{ interruptionId: view.id, ...about, ...decided }];
  });
}

/** The first event of a segment. It follows from a decision, the cut before it, or the start of the run. */
export function startOf(segment: number, settled: readonly Settled[]) {
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
