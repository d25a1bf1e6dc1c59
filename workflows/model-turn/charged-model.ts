import type { Model, ModelProvider, ModelResponse } from '@openai/agents';
import { CutAnswer } from '../../src/models/failures/model-call-error.js';
import { finishReasonIn, isCutReason } from '../../src/models/providers/answer-terms.js';
import { targetOf } from '../../src/models/providers/multi-model-provider.js';
import { attemptOf } from '../../src/models/providers/single-attempt.js';
import { TurnCharges } from '../../steps/calls/turn-charges.js';
import { surroundingSegment } from '../segment-context.js';
import { chargedIn } from './budget-wait.js';

let asked = 0;

/**
 * The models of the engine for whoever runs an agent inside a step of a run: a guardrail, a tool. Their calls are part of that step;
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
