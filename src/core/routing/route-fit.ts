import { usdOf } from '../money.js';
import type { RouteNeed } from './route-need.js';
import type { Candidate, RouterPlan } from './router-plan.js';

/** What a candidate costs, in nano-dollars; null: its price is unknown. */
export type CostOf = (candidate: Candidate, inputTokens: number, outputTokens: number) => number | null;

/** What is taken to come out of a request that does not say how much may. */
const USUAL_OUTPUT_TOKENS = 1_000;

/** What a request would cost at a candidate, by estimate; null: unknown. */
export const estimateOf = (candidate: Candidate, need: RouteNeed, costOf: CostOf): number | null =>
  costOf(candidate, need.inputTokens ?? 0, need.maxOutputTokens ?? USUAL_OUTPUT_TOKENS);

/** Whether the length of a request matters to a router. */
export const countsTokens = ({ strategy, candidates }: RouterPlan): boolean =>
  strategy === 'cost_optimized' || candidates.some(({ contextTokens }) => contextTokens !== null);

/** Why a candidate cannot serve a request; null: it can, as far as is known. */
export function unfitness(
  candidate: Candidate,
  need: RouteNeed,
  { budgetPerRequest }: Pick<RouterPlan, 'budgetPerRequest'>,
  costOf: CostOf,
): string | null {
  const { supports, contextTokens } = candidate;
  const missing = supports === null ? [] : need.capabilities.filter((one) => !supports.has(one));
  if (missing.length > 0) return `it does not support ${missing.join(', ')}`;
  const tokens = (need.inputTokens ?? 0) + (need.maxOutputTokens ?? 0);
  if (contextTokens !== null && tokens > contextTokens)
    return `the request has about ${tokens} tokens with its answer, and it takes ${contextTokens}`;
  if (budgetPerRequest === null) return null;
  const cost = estimateOf(candidate, need, costOf);
  if (cost === null) return 'its price is unknown, so that the budget for a request cannot be kept';
  if (cost > budgetPerRequest)
    return `it would cost about ${usd(cost)}, and ${usd(budgetPerRequest)} is the budget for a request`;
  return null;
}

const usd = (nanos: number): string => `$${usdOf(BigInt(Math.round(nanos)))}`;
