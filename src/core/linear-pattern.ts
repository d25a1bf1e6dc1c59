import { RE2JS } from 're2js';
import type { Allowance } from './allowance.js';
import { HoldfastError } from './errors.js';

/**
 * Regular expressions that a caller or a configuration wrote. RE2 runs them: its work grows with the length of the text times the
 * size of the expression, and nothing makes it exponential. So both are bounded.
 */
export interface LinearPattern {
  test(text: string): boolean;
  /** Throws what the allowance throws. */
  replace(text: string, replacement: string, allowance: Allowance): string;
}

export const PATTERN_LENGTH = 500;

/** How many steps of a compiled expression there may be: each may cost its own work at every character of a text. */
export const PATTERN_SIZE = 5000;

/** Throws `invalid_request`, which says what is wrong with the expression. */
export function linearPattern(source: string, { ignoreCase = false } = {}): LinearPattern {
  const problem = patternProblem(source);
  if (problem !== null)
    throw new HoldfastError('invalid_request', `${JSON.stringify(source.slice(0, 200))}: ${problem}.`);
  const compiled = RE2JS.compile(source, ignoreCase ? RE2JS.CASE_INSENSITIVE : 0);
  return {
    test: (text) => compiled.matcher(text).find(),
    replace: (text, replacement, allowance) =>
      compiled.matcher(text).replaceAll(() => {
        allowance.make(replacement.length, 'What stands in the place of what is redacted');
        return replacement;
      }),
  };
}

/** Why an expression is not taken, or null. Its size is reckoned before it is compiled, since compiling costs as much. */
export function patternProblem(source: string): string | null {
  if (source.length > PATTERN_LENGTH) return `expected at most ${PATTERN_LENGTH} characters, got ${source.length}`;
  const size = patternSize(source);
  if (size > PATTERN_SIZE)
    return `expected an expression of at most ${PATTERN_SIZE} steps, got ${size}: use smaller counts in {}`;
  try {
    RE2JS.compile(source);
    return null;
  } catch (error) {
    const why = error instanceof Error ? error.message : 'it cannot be read';
    return `expected a regular expression of RE2, which has no lookaround, no references to groups and no \\u: ${why}`;
  }
}

/** A class, an escape, a count, or one character. RE2 reads a "]" that comes first in a class as one of its members. */
const PARTS = /\[\^?\]?(?:\[:\^?[a-z]+:\]|\\[\s\S]|[^\]\\])*\]|\\[pP]\{[^}]*\}|\\[\s\S]|\{(\d+)(?:,(\d*))?\}|[\s\S]/gu;

/** The steps of an empty expression. */
const FIXED = 3;

/** At most how many steps an expression compiles to, or more. */
export function patternSize(source: string): number {
  // For each group that is open: the size of what is before its last part, and of that part.
  const open: { before: number; last: number }[] = [];
  let [before, last] = [0, 0];
  if (source.includes('\\Q')) return Number.POSITIVE_INFINITY;
  for (const [part, least, most] of source.matchAll(PARTS)) {
    if (part === '(') {
      open.push({ before: before + last, last: 0 });
      [before, last] = [0, 0];
    } else if (part === ')') {
      const inner = before + last + 2;
      before = open.pop()?.before ?? 0;
      last = inner;
    } else if (least !== undefined) {
      last *= Math.max(Number(least), Number(most ?? 0), 1) + 1;
    } else {
      before += last;
      last = 2;
    }
  }
  return open.reduce((sum, group) => sum + group.before, before + last) + FIXED;
}
