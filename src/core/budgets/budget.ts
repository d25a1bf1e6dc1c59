import { z } from 'zod';
import { nameWithoutControls } from '../json.js';
import { nanosOf, usdOf, usdText } from '../money.js';

/** What happens when a budget has no room for a model call: a person is asked for more, or the run fails as `limit_budget`. */
const onExhausted = z.enum(['ask', 'fail']);

/** What a run asks for with `budget`. */
export const askedBudget = z
  .strictObject({ usd: usdText, onExhausted: onExhausted.optional() })
  .meta({ id: 'AskedBudget' });

/** The budget of a run, pinned when it starts. `of`: it is that of this run above it, which it shares. */
export const runBudget = z.object({
  ...{ usd: usdText, onExhausted, of: z.string().exactOptional() },
  below: z
    .array(z.object({ usd: usdText, onExhausted, of: z.string() }))
    .exactOptional()
    .describe('Budgets that its agent, and those of runs above it, declare below that one.'),
});
type RunBudget = z.infer<typeof runBudget>;

/** What an agent declares: the most that each of its runs may cost, with the runs below it. */
export type DeclaredBudget = z.infer<typeof askedBudget>;

/** Bounds of what is spent in a day of UTC, and ever. */
const bounds = z.strictObject({ perDay: usdText.optional(), total: usdText.optional() });
type Bounds = z.infer<typeof bounds>;

/** The budgets of a configuration, in dollars as texts. */
export const budgets = z.strictObject({
  /** Of each run, with the runs of its sub-agents. */
  perRun: usdText.optional(),
  /** Of everything. */
  perDay: usdText.optional(),
  perAgent: z.record(nameWithoutControls, bounds.extend({ perRun: usdText.optional() })).optional(),
  /** What holds for each tenant that is not named, and for those that are. */
  perTenant: z
    .strictObject({ each: bounds.optional(), named: z.record(nameWithoutControls, bounds).optional() })
    .optional(),
  onExhausted: onExhausted.default('ask'),
  /** How much output a call is taken to have that does not say `maxTokens`. */
  outputTokens: z.int().min(1).max(10_000_000).default(4096),
});
export type Budgets = z.output<typeof budgets>;
export type BudgetsInput = z.input<typeof budgets>;

/** A budget that applies to a run. A daily one is another one each day: its id is completed by the day. */
export interface AppliedBudget {
  readonly id: string;
  readonly scope: 'run' | 'agent' | 'tenant' | 'all';
  /** Of the run, agent or tenant; '' for all. */
  readonly name: string;
  readonly daily: boolean;
  readonly limit: bigint;
  readonly onExhausted: 'ask' | 'fail';
}

/** What a run waits for that no budget has room for: which one, and what was spent and needed then. */
export const exhaustedBudget = z.strictObject({
  kind: z.literal('budget'),
  budget: z.string(),
  scope: z.enum(['run', 'agent', 'tenant', 'all']),
  name: z.string(),
  day: z.string().nullable().describe('The UTC day of a daily budget.'),
  limitUsd: usdText,
  spentUsd: usdText.describe('With what is reserved for calls under way.'),
  neededUsd: usdText.describe('What is reserved for the call.'),
});
export type ExhaustedBudget = z.infer<typeof exhaustedBudget>;

/** The budget of a run that starts: the least of what is configured, declared by its agent and asked for. Undefined: it has none. */
export function budgetOfRun(
  { perRun, perAgent, onExhausted: policy }: Budgets,
  { agent, own }: { readonly agent: string; readonly own: RunBudget | undefined },
  asked: z.infer<typeof askedBudget> | undefined,
): RunBudget | undefined {
  const ofAgent = Object.hasOwn(perAgent ?? {}, agent) ? perAgent?.[agent]?.perRun : undefined;
  const limits = [ofAgent ?? perRun, own?.usd, asked?.usd].flatMap((usd) => (usd === undefined ? [] : [nanosOf(usd)]));
  const [first, ...rest] = limits;
  if (first === undefined) return undefined;
  const least = rest.reduce((a, b) => (b < a ? b : a), first);
  return { usd: usdOf(least), onExhausted: asked?.onExhausted ?? own?.onExhausted ?? policy };
}

/** The budget of a run below another one: that of the run above, and below it that of its own agent. Undefined: it has none. */
export function budgetOfChild(
  parent: { readonly id: string; readonly budget: RunBudget | undefined },
  child: { readonly id: string; readonly own: RunBudget | undefined },
): RunBudget | undefined {
  const { budget } = parent;
  if (budget === undefined) return child.own;
  const own = child.own && { usd: child.own.usd, onExhausted: child.own.onExhausted, of: child.id };
  const below = [...(budget.below ?? []), ...(own === undefined ? [] : [own])];
  return {
    ...{ usd: budget.usd, onExhausted: budget.onExhausted, of: budget.of ?? parent.id },
    ...(below.length === 0 ? {} : { below }),
  };
}

interface BudgetedRun {
  readonly id: string;
  readonly tenant: string;
  readonly agent: string;
  readonly budget: RunBudget | undefined;
}

/** Every budget that the model calls of a run count for, its own first. */
export function budgetsFor(configured: Budgets, { id, tenant, agent, budget }: BudgetedRun): readonly AppliedBudget[] {
  const { perDay, perAgent = {}, perTenant = {}, onExhausted: policy } = configured;
  const { each = {}, named = {} } = perTenant;
  const ofAgent = Object.hasOwn(perAgent, agent) ? perAgent[agent] : undefined;
  const ofTenant = Object.hasOwn(named, tenant) ? named[tenant] : each;
  const ofRuns = budget === undefined ? [] : [{ ...budget, of: budget.of ?? id }, ...(budget.below ?? [])];
  return [
    ...ofRuns.map((one) => ({
      ...{ id: `run:${one.of}`, scope: 'run' as const, name: one.of, daily: false },
      ...{ limit: nanosOf(one.usd), onExhausted: one.onExhausted },
    })),
    ...bounded('agent', agent, ofAgent ?? {}, policy),
    ...bounded('tenant', tenant, ofTenant ?? {}, policy),
    ...bounded('all', '', perDay === undefined ? {} : { perDay }, policy),
  ];
}

function bounded(
  scope: AppliedBudget['scope'],
  name: string,
  { perDay, total }: Bounds,
  policy: 'ask' | 'fail',
): readonly AppliedBudget[] {
  const of = (kind: string, usd: string | undefined, daily: boolean): readonly AppliedBudget[] =>
    usd === undefined
      ? []
      : [{ id: `${scope}:${kind}:${name}`, scope, name, daily, limit: nanosOf(usd), onExhausted: policy }];
  return [...of('day', perDay, true), ...of('total', total, false)];
}

/** What a person reads about it. */
export function exhaustedText({ scope, name, day, limitUsd, spentUsd, neededUsd }: ExhaustedBudget): string {
  const whose = scope === 'all' ? 'The budget of everything' : `The budget of the ${scope} ${name}`;
  const when = day === null ? '' : ` for ${day}`;
  return `${whose}${when} is ${limitUsd} dollars; ${spentUsd} are spent or reserved, and the next model call may take ${neededUsd}.`;
}

const DAY_MS = 24 * 3600 * 1000;

/** When a daily budget is another one, which has room again; null: it is that of no day. */
export const nextDayOf = ({ day }: Pick<ExhaustedBudget, 'day'>): string | null =>
  day === null ? null : new Date(Date.parse(`${day}T00:00:00.000Z`) + DAY_MS).toISOString();

/** What an approval of more says. */
export const raisedLimit = z.object({ limitUsd: usdText });

/** The least limit that leaves room for the call. */
export const leastLimit = ({ spentUsd, neededUsd }: ExhaustedBudget): string =>
  usdOf(nanosOf(spentUsd) + nanosOf(neededUsd));

/** Why an attempt does not go out. */
interface SpendRefusal {
  readonly code: 'limit_budget' | 'price_unknown';
  readonly text: string;
}

/**
 * Money for model calls that are charged to no run, in nano-dollars. Where it has a bound, each attempt takes what it may cost at most
 * before it goes out; what comes of it puts what it cost in the place of that.
 */
export class SpendCap {
  /** What answers have cost, as far as prices are known. */
  paid = 0n;
  /** How many answers cost what is not known. */
  unpriced = 0;
  /** Why the attempt that was last asked for does not go out; null: it does. */
  refusal: SpendRefusal | null = null;
  readonly #bound: bigint | null;
  /** Of attempts under way, and of those that may have been paid for without an answer. */
  #held = 0n;

  /** Null: there is no bound. */
  constructor(bound: bigint | null) {
    this.#bound = bound;
  }

  /** Takes what an attempt may cost; null: its price is not known. What it returns is why it may not go out. */
  take(model: string, needed: bigint | null): SpendRefusal | null {
    this.refusal = this.#refusalOf(model, needed);
    if (this.refusal === null) this.#held += needed ?? 0n;
    return this.refusal;
  }

  /** The attempt cost nothing. */
  giveBack(needed: bigint | null): void {
    this.#held -= needed ?? 0n;
  }

  /** The attempt was answered. `nanos` null: what it cost is not known, and what was taken stays so. */
  pay(needed: bigint | null, nanos: bigint | null): void {
    if (nanos === null) {
      this.unpriced++;
      return;
    }
    this.giveBack(needed);
    this.paid += nanos;
  }

  #refusalOf(model: string, needed: bigint | null): SpendRefusal | null {
    const bound = this.#bound;
    if (bound === null || needed === 0n) return null;
    if (needed === null) return { code: 'price_unknown', text: `No price of ${model} is known, and maxUsd applies.` };
    const left = bound - this.paid - this.#held;
    if (needed <= left) return null;
    const rest = usdOf(left < 0n ? 0n : left);
    const text = `The next answer of ${model} may cost ${usdOf(needed)} dollars, and ${rest} of ${usdOf(bound)} (maxUsd) are left.`;
    return { code: 'limit_budget', text };
  }
}
