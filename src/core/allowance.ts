import { HoldfastError } from './errors.js';

const MADE_LIMIT = 33_554_432;

/**
 * How much one request may make of what it holds: characters that an expansion, a patch or a replacement writes, and places that
 * it looks at. Whoever makes something asks before it is made. One allowance is handed through all that a request makes.
 */
export class Allowance {
  readonly #limit: number;
  readonly #what: string;
  #left: number;

  constructor(what: string, limit: number = MADE_LIMIT) {
    this.#limit = limit;
    this.#what = what;
    this.#left = limit;
  }

  /** Throws `payload_too_large`. */
  spend(count: number): void {
    this.#left -= count;
    if (this.#left >= 0) return;
    throw new HoldfastError('payload_too_large', `${this.#what} would have more than ${this.#limit} characters.`, {
      hint: 'Ask for less: shorter values, fewer places where they stand, or a smaller part.',
    });
  }
}
