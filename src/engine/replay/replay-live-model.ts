import { replayLive } from '../../../workflows/replay/replay-live.js';
import { budgetsFor } from '../../core/budgets/budget.js';
import { HoldfastError } from '../../core/errors/errors.js';
import { invalidRequest } from '../../core/field-errors.js';
import { nanosOf } from '../../core/money.js';
import type { ReplayReport } from '../../core/replay/replay.js';
import { limitsOf, type RunRow } from '../../storage/runs/run-row.js';
import { agentNamed, type EngineContext } from '../engine-context.js';
import { replayPlace } from './replay-place.js';
import { grantsToday, type StoredRun } from './replayed-run.js';
import { unreplayed } from './unreplayed.js';

interface LiveRequest {
  readonly from: number | undefined;
  readonly executePure: boolean;
  /** Dollars. */
  readonly maxUsd: string | undefined;
  readonly signal: AbortSignal;
}

/**
 * Lets the agents of today work on the input of a run with their models, and with the results of its calls. Nothing is written, and nothing
 * charged. Throws `invalid_request` where budgets apply to the run and the request has no bound of its own, and the reason of the signal
 * when it fires.
 */
export async function replayLiveModel(
  { stepContext, agents, models }: EngineContext,
  { replayed, lists, refused }: StoredRun,
  { from = 1, executePure, maxUsd, signal }: LiveRequest,
): Promise<ReplayReport> {
  const { run } = replayed;
  const report = { runId: run.id, mode: 'live_model', from } as const;
  if (refused !== null) return unreplayed(report, refused);
  if (maxUsd === undefined) assertUnbudgeted(stepContext, run);
  try {
    const grants = grantsToday(run, agentNamed({ agents }, run.agent));
    const place = replayPlace(agents, lists);
    const { now, prices } = stepContext;
    const budgets = { onExhausted: 'fail', outputTokens: stepContext.budgets.outputTokens } as const;
    const { findings, live, executed } = await replayLive(
      { ...place, ctx: { ...place.ctx, now, prices, budgets }, provider: models },
      { ...replayed, grants },
      { from, executePure, now, signal, maxNanos: maxUsd === undefined ? null : nanosOf(maxUsd) },
    );
    const { differences, more, events, upTo, notCompared, stoppedAt } = findings;
    return {
      ...{ ...report, result: differences.length === 0 ? 'same' : 'diverged', events, upTo },
      ...{ whole: stoppedAt === null, differences, moreDifferences: more, executed, notCompared: [...notCompared] },
      ...{ live, reason: null },
    };
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof HoldfastError)) throw error;
    return unreplayed(report, error);
  }
}

/** What a replay costs is charged to no run: where runs are bounded, it has a bound of its own. */
function assertUnbudgeted({ budgets }: EngineContext['stepContext'], run: RunRow): void {
  const { id, tenant, agent } = run;
  if (budgetsFor(budgets, { id, tenant, agent, budget: limitsOf(run).budget }).length === 0) return;
  const detail = 'is needed: budgets apply to the run, and a live replay is not charged to them';
  throw invalidRequest([{ pointer: '/maxUsd', detail }]);
}
