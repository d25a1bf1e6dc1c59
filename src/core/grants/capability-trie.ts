import { HoldfastError } from '../errors/errors.js';

/** What the parsers of capabilities throw; its message says what is wrong and how it is written rightly. */
export const notACapability = (message: string): HoldfastError => new HoldfastError('capability_invalid', message);

/** Exactly one token, whatever it is. */
export const ONE = Symbol('one');
/** Exactly one token that is not an option of a command (`-x`). */
export const OPERAND = Symbol('operand');
/** Any number of tokens, none included. */
export const ANY = Symbol('any');

/** A part of a capability: a literal, or a wildcard of a pattern. */
export type Token = string | typeof ONE | typeof OPERAND | typeof ANY;

interface Node<T> {
  readonly literals: Map<string, Node<T>>;
  readonly values: T[];
  readonly repeats: boolean;
  /** The last step of a question that came here. */
  seen: number;
  one: Node<T> | null;
  operand: Node<T> | null;
  any: Node<T> | null;
}

const node = <T>(repeats: boolean): Node<T> => ({
  literals: new Map(),
  values: [],
  repeats,
  seen: 0,
  one: null,
  operand: null,
  any: null,
});

const isOperand = (token: Token): boolean => (typeof token === 'string' ? !token.startsWith('-') : token === OPERAND);

/** How much comparing one question, or all of one request, may cost: a step is one place of a pattern that is looked at. */
export class Steps {
  taken = 0;
  private readonly limit: number;

  constructor(limit = Number.POSITIVE_INFINITY) {
    this.limit = limit;
  }

  take(count: number): void {
    this.taken += count;
    if (this.taken > this.limit)
      throw notACapability(
        `These grants take more than ${this.limit} steps to compare: use fewer, or fewer with "**".`,
      );
  }
}

/**
 * Patterns as one automaton, walked once per question. Without "**" a question comes to each place once at most; a place behind a
 * "**" it may come to with every token. So the steps of a question are at most `places + open * (tokens + 1)`.
 */
export class PatternTrie<T> {
  private readonly root: Node<T> = node(false);
  private generation = 0;
  /** The places of all patterns; what patterns begin with in common counts once. */
  places = 1;
  /** The places that are, or come after, "**". */
  open = 0;

  add(pattern: readonly Token[], value: T): void {
    let at = this.root;
    let isOpen = false;
    for (const token of pattern) {
      isOpen ||= token === ANY;
      const { next, isNew } = child(at, token);
      at = next;
      if (!isNew) continue;
      this.places += 1;
      if (isOpen) this.open += 1;
    }
    at.values.push(value);
  }

  /**
   * The values of every pattern that covers `tokens`. For literals alone: of every pattern that matches them. For a pattern:
   * only of patterns that match all that it matches; such a pattern can be missed where wildcards are stacked
   * (`**` then `*`), but none is ever returned wrongly. Throws what `steps` throws.
   */
  find(tokens: readonly Token[], steps = new Steps()): readonly T[] {
    let active: Node<T>[] = [];
    this.enter(active, this.root, ++this.generation);
    steps.take(active.length);
    for (const token of tokens) {
      const next: Node<T>[] = [];
      this.generation += 1;
      for (const at of active) this.step(at, token, next);
      active = next;
      steps.take(active.length);
      if (active.length === 0) break;
    }
    return active.flatMap((at) => at.values);
  }

  private step(at: Node<T>, token: Token, next: Node<T>[]): void {
    const { generation } = this;
    if (at.repeats) this.enter(next, at, generation);
    if (token === ANY) return;
    this.enter(next, at.one, generation);
    if (isOperand(token)) this.enter(next, at.operand, generation);
    if (typeof token === 'string') this.enter(next, at.literals.get(token) ?? null, generation);
  }

  private enter(list: Node<T>[], at: Node<T> | null, generation: number): void {
    for (let reached = at; reached !== null && reached.seen !== generation; reached = reached.any) {
      reached.seen = generation;
      list.push(reached);
    }
  }
}

function child<T>(at: Node<T>, token: Token): { readonly next: Node<T>; readonly isNew: boolean } {
  const known = childOf(at, token);
  if (known !== null) return { next: known, isNew: false };
  const next = node<T>(token === ANY);
  if (token === ONE) at.one = next;
  else if (token === OPERAND) at.operand = next;
  else if (token === ANY) at.any = next;
  else at.literals.set(token, next);
  return { next, isNew: true };
}

function childOf<T>(at: Node<T>, token: Token): Node<T> | null {
  if (token === ONE) return at.one;
  if (token === OPERAND) return at.operand;
  if (token === ANY) return at.any;
  return at.literals.get(token) ?? null;
}
