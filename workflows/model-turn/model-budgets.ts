import type { Model, ModelProvider, ModelResponse } from '@openai/agents';
import {
  type AppliedBudget,
  budgetsFor,
  type ExhaustedBudget,
  exhaustedText,
  nextDayOf,
} from '../../src/core/budgets/budget.js';
import { HoldfastError } from '../../src/core/errors/errors.js';
import { digestOf } from '../../src/core/json.js';
import type { Wait } from '../../src/core/runs/ending.js';
import { CutAnswer } from '../../src/models/failures/model-call-error.js';
import { finishReasonIn, isCutReason } from '../../src/models/providers/answer-terms.js';
import { targetOf } from '../../src/models/providers/multi-model-provider.js';
import { attemptOf } from '../../src/models/providers/single-attempt.js';
import { TurnCharges } from '../../steps/calls/turn-charges.js';
import type { SettledInterruption } from '../../steps/segment/begin-segment.js';
import { type SegmentContext, surroundingSegment } from '../segment-context.js';

/** The budgets that the model calls of the run count for, by the configuration of this process. */
export const budgetsOf = ({ ctx, run: { id, tenant, agent, limits } }: SegmentContext): readonly AppliedBudget[] =>
  budgetsFor(ctx.budgets, { id, tenant, agent, budget: limits.budget });

/** Whom what a model call of the run costs is charged to. */
export const chargedIn = (scope: SegmentContext) => {
  const { id: runId, tenant, agent } = scope.run;
  const provenAt = (): number => scope.provenAt;
  return { runId, tenant, agent, budgets: budgetsOf(scope), spendCap: scope.source.spendCap, provenAt };
};

/** What a run comes to wait for whose next model call no budget has room for. It belongs to no call. */
export const budgetWait = (
  runId: string,
  asked: { readonly turn: number; readonly agent: string },
  budget: ExhaustedBudget,
  parentKey: string,
): Wait => ({
  ...{ callId: null, tool: null, agent: asked.agent, arguments: null, parentKey },
  digest: digestOf(['budget', runId, asked.turn, budget]),
  ...{ reason: 'budget', text: exhaustedText(budget), expiresInMs: budget.day === null ? undefined : null },
  // The budget of a day has room on the next one, whether someone raises it or not.
  inside: { ordinal: 1, spec: budget, dueAt: nextDayOf(budget) },
});

/** Applies what was decided of it: the model is asked again, or the run ends. */
export function applyBudgetDecisions(scope: SegmentContext): void {
  for (const one of scope.settled) {
    if (one.reason !== 'budget') continue;
    scope.applied.add(one.interruptionId);
    if (one.verdict !== 'approve') scope.stop ??= { type: 'failed', error: endedBy(one).view() };
  }
}

function endedBy({ verdict, actor, message, wait }: SettledInterruption): HoldfastError {
  const what =
    wait?.spec.kind === 'budget' ? exhaustedText(wait.spec) : 'A budget had no room for the next model call.';
  const who =
    verdict === 'expire'
      ? 'No one raised it in time.'
      : `${actor} did not raise it${message === null ? '.' : `: ${message}`}`;
  return new HoldfastError('limit_budget', `${what} ${who}`);
}

let asked = 0;

/**
 * The models of the engine for the caller that runs an agent inside a step of a run: a guardrail, a tool. Their calls are part of that step;
 * what they cost is charged to the run, and its budgets hold for them. Each charge is one of its own, under the turn that the run is in.
 */
export const chargedProvider = (provider: ModelProvider): ModelProvider => ({
  async getModel(name) {
    const model = await provider.getModel(name);
    const attempt = (): Model => chargedAttempt(model, name);
    return {
      getResponse: async (request) => whole(await attempt().getResponse(request)),
      getStreamedResponse: (request) => attempt().getStreamedResponse(request),
    };
  },
});

/** Nothing but an error tells a guardrail or a tool that the answer was cut. */
function whole(response: ModelResponse): ModelResponse {
  if (isCutReason(finishReasonIn(response))) throw new CutAnswer(response);
  return response;
}

function chargedAttempt(model: Model, name: string | undefined): Model {
  const scope = surroundingSegment();
  if (scope === null) return model;
  const { turns: turn, execution, run } = scope;
  const charged = { ...chargedIn(scope), turn, execution: `${execution}:${++asked}`, atOnce: true };
  const context = { runId: run.id, taskType: run.taskType, watch: new TurnCharges(scope.ctx, charged) };
  return attemptOf(model, targetOf(name), context);
}
