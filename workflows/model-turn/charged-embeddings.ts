import { type ModelRequest, Usage } from '@openai/agents';
import type { Meter } from '../../src/metrics/meter.js';
import type { EmbeddingProvider, EmbeddingRequest } from '../../src/models/providers/embedding-provider.js';
import type { Admission } from '../../src/models/providers/model-attempt.js';
import { targetOf } from '../../src/models/providers/multi-model-provider.js';
import { AttemptRefused, outcomeOf } from '../../src/models/providers/single-attempt.js';
import { TurnCharges } from '../../steps/calls/turn-charges.js';
import { surroundingSegment } from '../segment-context.js';
import { chargedIn } from './model-budgets.js';

let asked = 0;

/**
 * Embedding models whose requests are counted like those of models. One that a call of a run makes is charged to the run, and its
 * budgets hold for it. One that a worker makes for documents of many runs, or a person asks for, is charged to none.
 */
export const chargedEmbeddings = (provider: EmbeddingProvider, metrics: Meter): EmbeddingProvider => ({
  ...(provider.assertEmbeds === undefined ? {} : { assertEmbeds: (model: string) => provider.assertEmbeds?.(model) }),
  embed: async (request) => {
    const settle = await admitted(request, metrics);
    let usage: Usage | null = null;
    const used = (inputTokens: number): void => {
      usage = new Usage({ inputTokens, outputTokens: 0, totalTokens: inputTokens });
    };
    const vectors = await provider.embed({ ...request, used }).catch(async (error: unknown) => {
      await settle(usage, outcomeOf(error));
      throw error;
    });
    await settle(usage, 'answered');
    return vectors;
  },
});

/** Throws `limit_budget` and `price_unknown` where a budget of the run has no room for the request. */
async function admitted(request: EmbeddingRequest, metrics: Meter): Promise<Admission['settle']> {
  const scope = surroundingSegment();
  const target = targetOf(request.model);
  if (scope === null) return countedOnly(request.model, metrics);
  const charged = { ...chargedIn(scope), turn: scope.turns, execution: `${scope.execution}:e${++asked}`, atOnce: true };
  const said = await new TurnCharges(scope.ctx, charged).admit(target, requestOf(request));
  if (!said.admitted) throw new AttemptRefused(target, said);
  return (usage, outcome) => said.settle(usage, outcome);
}

function countedOnly(model: string, metrics: Meter): Admission['settle'] {
  const began = performance.now();
  return async (usage, outcome) => {
    metrics.attempted({ model, outcome, seconds: (performance.now() - began) / 1000 });
    if (outcome === 'answered')
      metrics.answered({ model, inputTokens: usage?.inputTokens ?? 0, outputTokens: 0, usd: null });
  };
}

/** What a request may use at most: its texts, and nothing that a model writes. */
const requestOf = ({ texts }: EmbeddingRequest): ModelRequest => ({
  ...{ input: texts.join('\n'), modelSettings: { maxTokens: 1 }, tools: [], handoffs: [] },
  ...{ outputType: 'text', tracing: false },
});
