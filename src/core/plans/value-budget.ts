import { HoldfastError } from '../errors/errors.js';
import type { JsonValue } from '../json.js';

/** Characters of all values that one look at a plan puts together. */
const MOST_CHARACTERS = 64 * 1024 * 1024;

/**
 * What templates and expressions may still put together. A template names a value as often as it likes, and what it gives can be named
 * by the next one: without a bound, a short plan makes a value of any size. It is counted before it is made.
 */
export class ValueBudget {
  #left: number;

  constructor(most = MOST_CHARACTERS) {
    this.#left = most;
  }

  /** Counts work that makes no value: a plan may go round without any. Throws `plan_failed` when the budget is spent. */
  work(characters: number): void {
    this.#spend(characters);
  }

  /** Counts a value. Throws `plan_failed` when the budget is spent. */
  take(value: JsonValue): void {
    const waiting: JsonValue[] = [value];
    while (waiting.length > 0) {
      const one = waiting.pop() ?? null;
      this.#spend(typeof one === 'string' ? one.length : 8);
      if (Array.isArray(one)) for (const item of one) waiting.push(item);
      else if (typeof one === 'object' && one !== null)
        for (const [name, member] of Object.entries(one)) {
          this.#spend(name.length);
          waiting.push(member);
        }
    }
  }

  #spend(characters: number): void {
    this.#left -= characters;
    if (this.#left < 0)
      throw new HoldfastError(
        'plan_failed',
        `The values of the plan take more than ${MOST_CHARACTERS} characters together. Let its templates name less, or its maps and loops have fewer rounds.`,
      );
  }
}
