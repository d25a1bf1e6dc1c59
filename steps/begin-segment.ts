import type { Knex } from 'knex';
import type { ArgumentEdit, DecisionView, InterruptionReason } from '../src/core/interruption.js';
import type { JsonValue } from '../src/core/json.js';
import { isOver } from '../src/core/run.js';
import type { StandingDecisionView, StandingRule } from '../src/core/standing.js';
import type { PlacedWait } from '../src/core/wait.js';
import {
  decisionsOf,
  type InterruptionRow,
  interruptionsOfSegment,
  interruptionViewOf,
  waitOf,
} from '../src/storage/interruptions.js';
import { lockRun, updateRun } from '../src/storage/runs.js';
import { standingOfRun } from '../src/storage/standing-decisions.js';
import { transact } from './patience.js';
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

/** Makes the run `running` and says what its segment starts from. Executing it again changes nothing. */
export function beginSegment(
  world: World,
  runId: string,
  segment: number,
  maxDurationMs: number | null,
): Promise<Begun> {
  return transact(world, async (trx) => {
    const run = await lockRun(trx, runId);
    if (run === undefined || run.segment !== segment || isOver(run.status)) return { type: 'stale' };
    const left = timeLeftMs({ ...run, segment_started_at: null }, maxDurationMs, world.now());
    await updateRun(trx, runId, { status: 'running', segment_started_at: new Date(world.now()) });
    const settled = await settledOf(trx, await interruptionsOfSegment(trx, runId, segment));
    return {
      type: 'begun',
      turns: run.turns,
      totalTokens: Number(run.total_tokens) + Number(run.child_total_tokens),
      deadlineAtMs: left === null ? null : world.now() + left,
      settled,
      standing: (await standingOfRun(trx, runId)).flatMap((one) => (one.revokedAt === null ? [ruleOf(one)] : [])),
    };
  });
}

/** What was decided of interruptions, in their order; those that nobody decided are left out. */
export async function settledOf(db: Knex, rows: readonly InterruptionRow[]): Promise<Settled[]> {
  const decisions = await decisionsOf(
    db,
    rows.map((row) => row.id),
  );
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

const ruleOf = ({ id, agent, tool, toolVersion, scope, exact, actor }: StandingDecisionView): StandingRule => ({
  ...{ id, agent, tool, toolVersion, scope, exact, actor },
});
