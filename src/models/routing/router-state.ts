import {
  afterAttempt,
  askBreaker,
  type BreakerAnswer,
  type BreakerResult,
  type BreakerState,
  CLOSED,
  probing,
} from '../../core/routing/breaker.js';
import type { BreakerRules } from '../../core/routing/router-plan.js';

/** What a router knows of its candidates in this process: small, and as many as it has candidates. */
export class RouterState {
  readonly #rules: BreakerRules;
  readonly #now: () => number;
  readonly #breakers: BreakerState[];
  readonly #lastFirst: number[];
  #firsts = 0;

  constructor(candidates: number, rules: BreakerRules, now: () => number) {
    this.#rules = rules;
    this.#now = now;
    this.#breakers = Array.from({ length: candidates }, () => CLOSED);
    this.#lastFirst = Array.from({ length: candidates }, () => 0);
  }

  get lastFirst(): readonly number[] {
    return this.#lastFirst;
  }

  /** Says that a candidate is the first of a request. */
  markFirst(place: number): void {
    this.#lastFirst[place] = ++this.#firsts;
  }

  /** Whether a candidate may be asked now. */
  look(place: number): BreakerAnswer {
    return askBreaker(this.#breakers[place] ?? CLOSED, this.#now());
  }

  /** The same, and begins the attempt if it may. */
  begin(place: number): BreakerAnswer {
    const answer = this.look(place);
    if (answer.lets && answer.probe)
      this.#breakers[place] = probing(this.#breakers[place] ?? CLOSED, this.#rules, this.#now());
    return answer;
  }

  end(place: number, result: BreakerResult, probe: boolean): void {
    this.#breakers[place] = afterAttempt(this.#breakers[place] ?? CLOSED, this.#rules, this.#now(), { result, probe });
  }
}
