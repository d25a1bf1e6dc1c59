import type { SpendCap } from '../../src/core/budgets/budget.js';
import { type AppliedBudget, type ExhaustedBudget, exhaustedText } from '../../src/core/budgets/budget.js';
import type { AnswerCost, Charge } from '../../src/core/budgets/charge.js';
import { costOf, highestCostOf } from '../../src/core/budgets/price.js';
import { HoldfastError } from '../../src/core/errors/errors.js';
import { usdOf, usdOrNull } from '../../src/core/money.js';
import type { NamedPrice } from '../../src/models/budgets/price-book.js';
import { requestTokens, usagePartsOf } from '../../src/models/budgets/usage-tokens.js';
import type { Admission, AttemptTarget, AttemptWatch, Refusal } from '../../src/models/providers/model-attempt.js';
import {
  type AttemptKey,
  type FullBudget,
  reserve,
  type Settlement,
  settle,
} from '../../src/storage/budgets/budgets.js';
import { writeCharge } from '../../src/storage/budgets/charges.js';
import { assertStillOwner, LostExecutionError, type StepContext } from '../context.js';
import { withDatabaseRetry } from '../database-retry.js';
import type { ModelResult } from './call-model.js';

/** What a model is asked for: one turn of a run. */
export interface ChargedTurn {
  readonly runId: string;
  readonly tenant: string;
  readonly turn: number;
  readonly execution: string;
  /** The agent that the run was started of. */
  readonly agent: string;
  /** Those that the run's model calls count for. */
  readonly budgets: readonly AppliedBudget[];
  /** Whether what is paid is written when it is paid, because no event of an answer goes with it. */
  readonly atOnce?: boolean;
  /** When the run last proved that it is this process's: see `covers` of the lease. */
  readonly provenAt: () => number;
  /** What pays for it in place of the run and its budgets; null: they do. */
  readonly spendCap: SpendCap | null;
}

/** Of numbers that are shown and never added up to what is paid. */
const NANOS_PER_USD = 1e9;

type Request = Parameters<AttemptWatch['admit']>[1];
type Said = Parameters<Admission['settle']>[0];
type Outcome = Parameters<Admission['settle']>[1];

/**
 * What the attempts to get the answer of one turn cost. Where budgets apply, each attempt takes what it may cost at most from all
 * of them before it goes out, and gives back what it did not cost. Where none does, nothing is written here: what was paid goes
 * along with the answer.
 */
export class TurnCharges implements AttemptWatch {
  readonly #ctx: StepContext;
  readonly #asked: ChargedTurn;
  readonly #unwritten: Charge[] = [];
  #answered: Charge | null = null;
  #exhausted: { readonly budget: ExhaustedBudget; readonly onExhausted: 'ask' | 'fail' } | null = null;
  #attempts = 0;

  constructor(ctx: StepContext, asked: ChargedTurn) {
    this.#ctx = ctx;
    this.#asked = asked;
  }

  /** Throws `LostExecutionError`: a process that was taken over asks no model. */
  async admit(target: AttemptTarget, request: Request): Promise<Admission | Refusal> {
    const { spendCap, runId, provenAt } = this.#asked;
    if (spendCap === null) await assertStillOwner(this.#ctx, runId, provenAt());
    const model = `${target.provider}/${target.model}`;
    const said = await this.#admit(model, request);
    if (!said.admitted) return said;
    const began = performance.now();
    return {
      admitted: true,
      settle: (usage, outcome) => {
        this.#ctx.metrics.attempted({ model, outcome, seconds: (performance.now() - began) / 1000 });
        return said.settle(usage, outcome);
      },
    };
  }

  async #admit(model: string, request: Request): Promise<Admission | Refusal> {
    const attempt = ++this.#attempts;
    const priced = this.#ctx.prices.priceOf(model, this.#ctx.now());
    const plain: Admission = {
      admitted: true,
      settle: async (said, outcome) => {
        if (isCharged(said, outcome)) await this.#keep(this.#answer(model, attempt, priced, said));
      },
    };
    const { budgets, spendCap } = this.#asked;
    if (spendCap !== null) return this.#bought(spendCap, model, attempt, priced, request);
    if (budgets.length === 0) return plain;
    if (priced === null) return unpriced(model);
    const needed = this.#highestCost(priced, request);
    // What is free needs no budget, also where none has room.
    return needed === 0n ? plain : this.#reserved(model, attempt, priced, needed);
  }

  /** What was paid for the answer: `charges` are to be written with it. */
  get paid(): { readonly charges: readonly Charge[]; readonly cost: AnswerCost } {
    const { nanos = null, price = null } = this.#answered ?? {};
    return { charges: this.#unwritten, cost: { usd: usdOrNull(nanos), price } };
  }

  /** A request that failed because a budget had no room waits for more, where its policy says so. */
  endOf(result: ModelResult): ModelResult {
    if (result.type !== 'failed') return result;
    const charges = this.#unwritten;
    if (this.#exhausted?.onExhausted !== 'ask') return charges.length === 0 ? result : { ...result, charges };
    return { type: 'exhausted', budget: this.#exhausted.budget, error: result.error };
  }

  #highestCost({ price }: NamedPrice, request: Request): bigint {
    const { maxTokens: most } = request.modelSettings;
    const output = most !== undefined && Number.isSafeInteger(most) && most > 0 ? most : this.#ctx.budgets.outputTokens;
    return highestCostOf(price, requestTokens(request), output);
  }

  #bought(
    spendCap: SpendCap,
    model: string,
    attempt: number,
    priced: NamedPrice | null,
    request: Request,
  ): Admission | Refusal {
    const needed = priced === null ? null : this.#highestCost(priced, request);
    const refusal = spendCap.take(model, needed);
    if (refusal !== null) {
      const { code, text } = refusal;
      return { admitted: false, reason: text, error: new HoldfastError(code, text).view() };
    }
    return {
      admitted: true,
      settle: async (said, outcome) => {
        if (isUnpaid(outcome)) spendCap.giveBack(needed);
        if (!isCharged(said, outcome)) return;
        const { nanos } = this.#answer(model, attempt, priced, said);
        spendCap.pay(needed, nanos === null ? null : BigInt(nanos));
      },
    };
  }

  async #keep(charge: Charge): Promise<void> {
    const { runId, tenant, atOnce = false } = this.#asked;
    if (atOnce) await withDatabaseRetry(() => writeCharge(this.#ctx.knex, runId, tenant, charge));
    else this.#unwritten.push(charge);
  }

  async #reserved(model: string, attempt: number, priced: NamedPrice, needed: bigint): Promise<Admission | Refusal> {
    const { knex } = this.#ctx;
    const { runId, tenant, turn, execution, budgets } = this.#asked;
    const state = { usage: null, nanos: String(needed), price: priced.name, state: 'reserved' } as const;
    const charge = { ...this.#chargeOf(model, attempt), ...state };
    const { worker } = this.#ctx;
    const said = await withDatabaseRetry(() => reserve(knex, { runId, tenant, charge, budgets, worker }));
    if (said.type === 'lost') throw new LostExecutionError(runId);
    if (said.type === 'full') return this.#refused(said.budget, needed);
    const key: AttemptKey = { runId, turn, execution, attempt };
    return {
      admitted: true,
      settle: async (usage, outcome) => {
        const settlement = this.#settlementOf(model, attempt, priced, usage, outcome);
        await withDatabaseRetry(() => settle(knex, key, settlement));
      },
    };
  }

  #settlementOf(model: string, attempt: number, priced: NamedPrice, said: Said, outcome: Outcome): Settlement {
    if (isUnpaid(outcome)) return { state: 'released', nanos: 0n, usage: null };
    const answer = isCharged(said, outcome) ? this.#answer(model, attempt, priced, said) : null;
    if (answer === null || answer.nanos === null) return { state: 'assumed', nanos: null, usage: null };
    return { state: 'settled', nanos: BigInt(answer.nanos), usage: answer.usage };
  }

  #refused({ id, base, day, limit, spent }: FullBudget, needed: bigint): Refusal {
    const full = this.#asked.budgets.find((one) => one.id === base);
    const { scope, name, onExhausted } = full ?? { scope: 'all', name: '', onExhausted: 'fail' };
    const usd = { limitUsd: usdOf(limit), spentUsd: usdOf(spent), neededUsd: usdOf(needed) };
    const budget: ExhaustedBudget = { kind: 'budget', budget: id, scope, name, day, ...usd };
    this.#exhausted ??= { budget, onExhausted };
    const reason = exhaustedText(budget);
    return { admitted: false, reason, error: new HoldfastError('limit_budget', reason).view() };
  }

  #answer(model: string, attempt: number, priced: NamedPrice | null, said: Said): Charge {
    const usage = usagePartsOf(said ?? undefined);
    const nanos = priced === null || usage === null ? null : String(costOf(priced.price, usage));
    const state = nanos === null ? 'unpriced' : 'settled';
    const { inputTokens = 0, outputTokens = 0 } = usage ?? {};
    const usd = nanos === null ? null : Number(nanos) / NANOS_PER_USD;
    this.#ctx.metrics.answered({ model, inputTokens, outputTokens, usd });
    this.#answered = { ...this.#chargeOf(model, attempt), usage, nanos, price: priced?.name ?? null, state };
    return this.#answered;
  }

  #chargeOf(model: string, attempt: number): Pick<Charge, 'turn' | 'execution' | 'agent' | 'attempt' | 'model'> {
    const { turn, execution, agent } = this.#asked;
    return { turn, execution, agent, attempt, model };
  }
}

/** Whether a cost is known to be due: an attempt that failed may have said what it used. */
const isCharged = (said: Said, outcome: Outcome): boolean => outcome === 'answered' || said !== null;

const isUnpaid = (outcome: Outcome): boolean => outcome === 'failed_before_sending' || outcome === 'rejected';

function unpriced(model: string): Refusal {
  const reason = `No price of ${model} is known, and a budget applies.`;
  return { admitted: false, reason, error: new HoldfastError('price_unknown', reason).view() };
}
