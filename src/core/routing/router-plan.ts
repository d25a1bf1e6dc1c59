import { nanosOf } from '../money.js';
import type { RouteStrategy } from './route.js';
import type { ModelCapability, RouterConfig } from './router-config.js';

/** Someone whom a router can ask. */
export interface Candidate {
  /** As the configuration names it. */
  readonly model: string;
  /** 0: a candidate or an arm; then each fallback is a group of its own. Earlier groups are asked first. */
  readonly group: number;
  readonly weight: number;
  readonly supports: ReadonlySet<ModelCapability> | null;
  readonly contextTokens: number | null;
  readonly taskTypes: ReadonlySet<string> | null;
  readonly timeoutMs: number;
  /** The place in the configuration: `candidates.1`. */
  readonly path: string;
}

export interface Arm {
  readonly name: string;
  readonly share: number;
}

export interface BreakerRules {
  readonly failures: number;
  readonly percentage: number;
  readonly minimumRequests: number;
  readonly windowMs: number;
  readonly cooldownMs: number;
  readonly exhaustedCooldownMs: number;
  readonly statuses: ReadonlySet<number>;
}

/** A router with nothing left out. */
export interface RouterPlan {
  readonly name: string;
  readonly strategy: RouteStrategy;
  /** Candidates or arms first, then the fallback. */
  readonly candidates: readonly Candidate[];
  /** Of an experiment: the arm at each place of the first candidates. */
  readonly arms: readonly Arm[];
  readonly experiment: string;
  readonly retries: { readonly attempts: number; readonly minWaitMs: number; readonly maxWaitMs: number };
  readonly breaker: BreakerRules;
  /** Nano-dollars. */
  readonly budgetPerRequest: number | null;
  readonly brokenStream: 'fail' | 'restart';
}

const TEN_MINUTES_MS = 600_000;
const SERVER_ERRORS = Array.from({ length: 100 }, (_, at) => 500 + at);
const STATUSES: readonly number[] = [401, 403, 404, 408, 429, ...SERVER_ERRORS];

export function planOf(name: string, config: RouterConfig): RouterPlan {
  const { strategy, fallback = [], retries = {}, breaker = {}, timeoutMs = TEN_MINUTES_MS } = config;
  const arms = strategy === 'experiment' ? config.arms : [];
  const first = strategy === 'experiment' ? arms : config.candidates;
  const budget = strategy === 'cost_optimized' ? config.budget?.usdPerRequest : undefined;
  const field = strategy === 'experiment' ? 'arms' : 'candidates';
  return {
    ...{ name, strategy },
    candidates: [
      ...first.map((one, at) => candidateOf(one, { group: 0, path: `${field}.${at}`, timeoutMs })),
      ...fallback.map((one, at) => candidateOf(one, { group: at + 1, path: `fallback.${at}`, timeoutMs })),
    ],
    arms: arms.map(({ name, share }) => ({ name, share })),
    experiment: (strategy === 'experiment' ? config.experiment : undefined) ?? name,
    retries: {
      attempts: retries.attempts ?? 2,
      minWaitMs: retries.minWaitMs ?? 500,
      maxWaitMs: retries.maxWaitMs ?? 30_000,
    },
    breaker: {
      failures: breaker.failures ?? 3,
      percentage: breaker.percentage ?? 50,
      minimumRequests: breaker.minimumRequests ?? 4,
      windowMs: breaker.windowMs ?? 60_000,
      cooldownMs: breaker.cooldownMs ?? 30_000,
      exhaustedCooldownMs: breaker.exhaustedCooldownMs ?? 3_600_000,
      statuses: new Set(breaker.statuses ?? STATUSES),
    },
    budgetPerRequest: budget === undefined ? null : Number(nanosOf(budget)),
    brokenStream: config.brokenStream ?? 'fail',
  };
}

type Named = Exclude<NonNullable<RouterConfig['fallback']>[number], string>;

function candidateOf(
  given: string | Named,
  { group, path, timeoutMs }: Pick<Candidate, 'group' | 'path' | 'timeoutMs'>,
): Candidate {
  const one: Named = typeof given === 'string' ? { model: given } : given;
  return {
    ...{ model: one.model, group, path, weight: one.weight ?? 1, timeoutMs: one.timeoutMs ?? timeoutMs },
    supports: one.supports === undefined ? null : new Set(one.supports),
    contextTokens: one.contextTokens ?? null,
    taskTypes: one.taskTypes === undefined ? null : new Set(one.taskTypes),
  };
}
