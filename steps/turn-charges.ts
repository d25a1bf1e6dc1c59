import type { AnswerCost, Charge } from '../src/core/charge.js';
import { usdOrNull } from '../src/core/money.js';
import { costOf } from '../src/core/price.js';
import type { Admission, AttemptTarget, AttemptWatch, Refusal } from '../src/models/model-attempt.js';
import { usagePartsOf } from '../src/models/usage-parts.js';
import type { World } from './world.js';

/** What a model is asked for: one turn of a run. */
export interface ChargedTurn {
  readonly turn: number;
  readonly execution: string;
  /** The agent that the run was started of. */
  readonly agent: string;
}

/** What the attempts to get the answer of one turn cost. */
export class TurnCharges implements AttemptWatch {
  readonly #world: World;
  readonly #asked: ChargedTurn;
  readonly #charges: Charge[] = [];
  #attempts = 0;

  constructor(world: World, asked: ChargedTurn) {
    this.#world = world;
    this.#asked = asked;
  }

  async admit(target: AttemptTarget): Promise<Admission | Refusal> {
    const attempt = ++this.#attempts;
    const settle: Admission['settle'] = async (usage, outcome) => {
      if (outcome === 'answered') this.#charges.push(this.#chargeOf(target, attempt, usage));
    };
    return { admitted: true, settle };
  }

  /** What was paid for the answer, to be kept with it. */
  get paid(): { readonly charges: readonly Charge[]; readonly cost: AnswerCost } {
    const last = this.#charges.at(-1);
    return { charges: this.#charges, cost: { usd: usdOrNull(last?.nanos ?? null), price: last?.price ?? null } };
  }

  #chargeOf(target: AttemptTarget, attempt: number, said: Parameters<Admission['settle']>[0]): Charge {
    const { prices, now } = this.#world;
    const model = `${target.provider}/${target.model}`;
    const priced = prices.priceOf(model, now());
    const usage = usagePartsOf(said ?? undefined);
    const nanos = priced === null || usage === null ? null : String(costOf(priced.price, usage));
    const state = nanos === null ? 'unpriced' : 'settled';
    return { ...this.#asked, attempt, model, usage, nanos, price: priced?.name ?? null, state };
  }
}
