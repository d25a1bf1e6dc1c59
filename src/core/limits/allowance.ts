import { z } from 'zod';
import { HoldfastError } from '../errors/errors.js';

/** What one request may take, whatever it asks for: docs/reference/limits.md. */
export const REQUEST_LIMITS = {
  /** Numbers that are drawn, and places of a schema that is checked against a value. */
  work: 500_000,
  /** Characters that an expansion, a patch or a replacement makes of what the request holds. */
  made: 8_388_608,
  /** Characters of the answer. */
  answer: 67_108_864,
} as const;

type Kind = keyof typeof REQUEST_LIMITS;

const UNITS: { readonly [kind in Kind]: string } = {
  work: 'steps of work',
  made: 'characters',
  answer: 'characters',
};

/**
 * How much one request may work, make and answer. The one that makes something asks before it is made. One allowance is handed through all
 * that a request does. All of it follows from what is asked, never from time, so that the same is refused always.
 */
export class Allowance {
  readonly #of: string;
  readonly #limits: Readonly<Record<Kind, number>>;
  readonly #left: Record<Kind, number>;

  /** `of` says in messages what it is for. */
  constructor(limits: Partial<Record<Kind, number>> = {}, of = '') {
    this.#of = of === '' ? '' : ` ${of}`;
    this.#limits = { ...REQUEST_LIMITS, ...limits };
    this.#left = { ...this.#limits };
  }

  /** `what` says what is about to be done. Throws `payload_too_large`. */
  work(steps: number, what: string): void {
    this.#spend('work', steps, `${what}${this.#of} would take more than`);
  }

  /** `what` says what is about to be made. Throws `payload_too_large`. */
  make(characters: number, what: string): void {
    this.#spend('made', characters, `${what}${this.#of} would have more than`);
  }

  /** Throws `payload_too_large`. */
  answer(characters: number, what = 'The answer'): void {
    this.#spend('answer', characters, `${what}${this.#of} would have more than`);
  }

  #spend(kind: Kind, count: number, what: string): void {
    this.#left[kind] -= count;
    if (this.#left[kind] >= 0) return;
    throw new HoldfastError('payload_too_large', `${what} ${this.#limits[kind]} ${UNITS[kind]}.`, {
      hint: 'Ask for less in one request: shorter values, fewer places where they stand, or a smaller part; docs/reference/limits.md has the limits.',
    });
  }
}

/** A list or a record whose size is looked at first: of one that has too many parts, no part is looked at. */
export const sized = <T extends z.ZodType>(most: number, schema: T) =>
  z.preprocess<unknown, T, z.input<T>>((value, context) => {
    const size = typeof value === 'object' && value !== null ? Object.keys(value).length : 0;
    if (size <= most) return value;
    context.addIssue({ code: 'custom', message: `expected at most ${most}, got ${size}` });
    return z.NEVER;
  }, schema);
