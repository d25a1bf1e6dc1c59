import { createHash } from 'node:crypto';
import { usdOf } from '../money.js';
import type { RouteNeed } from './route-need.js';
import type { Arm, Candidate, RouterPlan } from './router-plan.js';

/** What a candidate costs, in nano-dollars; null: its price is unknown. */
export type CostOf = (candidate: Candidate, inputTokens: number, outputTokens: number) => number | null;

/** What is taken to come out of a request that does not say how much may. */
const USUAL_OUTPUT_TOKENS = 1_000;

/** What a request would cost at a candidate, by estimate; null: unknown. */
const estimateOf = (candidate: Candidate, need: RouteNeed, costOf: CostOf): number | null =>
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

/** What an order is made from, beside the request. */
interface OrderInput {
  readonly need: RouteNeed;
  readonly costOf: CostOf;
  /** Numbers in [0, 1). */
  readonly random: () => number;
  /** When each candidate was last first, as a rising number; 0: never. */
  readonly lastFirst: readonly number[];
}

/** The places of candidates that can serve a request, in the order in which they are to be asked. The fallback keeps its own. */
export function orderOf(plan: RouterPlan, places: readonly number[], input: OrderInput): readonly number[] {
  const candidateAt = (place: number): Candidate => plan.candidates[place] as Candidate;
  const first = places.filter((place) => candidateAt(place).group === 0);
  const keys = new Map(first.map((place) => [place, keyOf(plan, candidateAt(place), place, input)]));
  const sorted = first.sort((a, b) => (keys.get(a) ?? 0) - (keys.get(b) ?? 0) || a - b);
  return [...sorted, ...places.filter((place) => candidateAt(place).group > 0)];
}

/** Smaller is earlier. Two infinities are told apart by their place in the configuration. */
function keyOf({ strategy }: RouterPlan, candidate: Candidate, place: number, input: OrderInput): number {
  const { need, random, lastFirst, costOf } = input;
  if (strategy === 'round_robin') return lastFirst[place] ?? 0;
  if (strategy === 'load_balanced') return weightedKey(candidate.weight, random());
  if (strategy === 'cost_optimized') return estimateOf(candidate, need, costOf) ?? Number.MAX_VALUE;
  return strategy === 'capability_based' ? rankOf(candidate, need) : 0;
}

/** The least of exponential waits whose rates are the weights comes from each as often as its weight says (Efraimidis and Spirakis, 2006). */
const weightedKey = (weight: number, random: number): number =>
  weight === 0 ? Number.MAX_VALUE : -Math.log(1 - random) / weight;

/** Those of its task first, then those of no task, then those of others; at equal rank those that say what they can do. */
function rankOf({ taskTypes, supports }: Candidate, { taskType }: RouteNeed): number {
  const known = supports === null ? 1 : 0;
  if (taskTypes === null) return 2 + known;
  return (taskType !== null && taskTypes.has(taskType) ? 0 : 4) + known;
}

/** A number in [0, 1) that is always the same for a run and an experiment. */
function spreadOf(runId: string, experiment: string): number {
  const bytes = createHash('sha256').update(`${experiment}\n${runId}`, 'utf8').digest();
  return Number(bytes.readBigUInt64BE() >> 11n) / 2 ** 53;
}

/** The place of the arm that a run is in. Outside of a run (`runId` null) each request is given one by chance. */
export function armOf({ arms, experiment }: RouterPlan, runId: string | null, random: () => number): number {
  let left = runId === null ? random() : spreadOf(runId, experiment);
  const at = arms.findIndex(({ share }: Arm) => {
    left -= share;
    return left < 0;
  });
  // Shares make 1 but for rounding.
  return at >= 0 ? at : arms.findLastIndex(({ share }) => share > 0);
}
