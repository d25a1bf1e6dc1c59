import { usdOf } from '../money.js';

/** Why an attempt does not go out. */
export interface PurseRefusal {
  readonly code: 'limit_budget' | 'price_unknown';
  readonly text: string;
}

/**
 * Money for model calls that are charged to no run, in nano-dollars. Where it has a bound, each attempt takes what it may cost at most
 * before it goes out; what comes of it puts what it cost in the place of that.
 */
export class Purse {
  /** What answers have cost, as far as prices are known. */
  paid = 0n;
  /** How many answers cost what is not known. */
  unpriced = 0;
  /** Why the attempt that was last asked for does not go out; null: it does. */
  refusal: PurseRefusal | null = null;
  readonly #bound: bigint | null;
  /** Of attempts under way, and of those that may have been paid for without an answer. */
  #held = 0n;

  /** Null: there is no bound. */
  constructor(bound: bigint | null) {
    this.#bound = bound;
  }

  /** Takes what an attempt may cost; null: its price is not known. What it returns is why it may not go out. */
  take(model: string, needed: bigint | null): PurseRefusal | null {
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

  #refusalOf(model: string, needed: bigint | null): PurseRefusal | null {
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
