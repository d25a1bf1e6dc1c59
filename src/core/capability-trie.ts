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
  one: Node<T> | null;
  operand: Node<T> | null;
  any: Node<T> | null;
}

const node = <T>(repeats: boolean): Node<T> => ({
  literals: new Map(),
  values: [],
  repeats,
  one: null,
  operand: null,
  any: null,
});

const isOperand = (token: Token): boolean => (typeof token === 'string' ? !token.startsWith('-') : token === OPERAND);

/**
 * Patterns as one automaton, walked once per question: the cost grows with the length of what is asked and with the wildcards
 * that stay open, not with the number of patterns, and no pattern makes it exponential.
 */
export class PatternTrie<T> {
  private readonly root: Node<T> = node(false);

  add(pattern: readonly Token[], value: T): void {
    let at = this.root;
    for (const token of pattern) at = child(at, token);
    at.values.push(value);
  }

  /**
   * The values of every pattern that covers `tokens`. For literals alone: of every pattern that matches them. For a pattern:
   * only of patterns that match all that it matches; such a pattern can be missed where wildcards are stacked
   * (`**` then `*`), but none is ever returned wrongly.
   */
  find(tokens: readonly Token[]): readonly T[] {
    let active = new Set<Node<T>>();
    enter(active, this.root);
    for (const token of tokens) {
      const next = new Set<Node<T>>();
      for (const at of active) step(at, token, next);
      active = next;
    }
    return [...active].flatMap((at) => at.values);
  }
}

function child<T>(at: Node<T>, token: Token): Node<T> {
  if (token === ONE) {
    at.one ??= node(false);
    return at.one;
  }
  if (token === OPERAND) {
    at.operand ??= node(false);
    return at.operand;
  }
  if (token === ANY) {
    at.any ??= node(true);
    return at.any;
  }
  const known = at.literals.get(token);
  if (known !== undefined) return known;
  const made = node<T>(false);
  at.literals.set(token, made);
  return made;
}

function step<T>(at: Node<T>, token: Token, next: Set<Node<T>>): void {
  if (at.repeats) enter(next, at);
  if (token === ANY) return;
  enter(next, at.one);
  if (isOperand(token)) enter(next, at.operand);
  if (typeof token === 'string') enter(next, at.literals.get(token) ?? null);
}

function enter<T>(set: Set<Node<T>>, at: Node<T> | null): void {
  for (let reached = at; reached !== null; reached = reached.any) set.add(reached);
}
