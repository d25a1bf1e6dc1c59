import { RE2JS } from 're2js';
import { HoldfastError } from '../errors/errors.js';
import type { Allowance } from './allowance.js';

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
    return `expected an expression of at most ${PATTERN_SIZE} steps, got ${size}: use smaller counts in {}, or fewer classes such as \\pL and [\\x{100}-\\x{ffff}]`;
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

/** A table of Unicode, such as `\\pL`, costs this much to compile, wherever it is and however often it is repeated. */
const TABLE_STEPS = 60;
/** RE2 visits every character of a range when it ignores case. A step is so many of them. */
const CHARACTERS_A_STEP = 450;
/** Beyond this no character has an upper and a lower case. */
const CASED_MOST = 0x1e943;

/** A table, a named class, a character in hexadecimal or octal digits, an escape, or one character. */
const MEMBERS =
  /\\[pP](?:\{[^}]*\}|[\s\S])|\[:\^?[a-z]+:\]|\\x\{([0-9a-fA-F]+)\}|\\x([0-9a-fA-F]{2})|\\([0-7]{1,3})|\\?([\s\S])/gu;

/** What a class costs to compile, beside the one step that it is. */
function classSteps(source: string): number {
  const members = [...source.matchAll(MEMBERS)];
  let steps = 0;
  for (const [at, [member]] of members.entries()) {
    if (/^\\[pP]/.test(member)) steps += TABLE_STEPS;
    if (member === '-') steps += Math.ceil(widthBetween(members[at - 1], members[at + 1]) / CHARACTERS_A_STEP);
  }
  return steps;
}

function widthBetween(from: RegExpExecArray | undefined, to: RegExpExecArray | undefined): number {
  const [least, most] = [codePointOf(from), codePointOf(to)].map((point) => Math.min(point, CASED_MOST));
  return Math.max(0, (most ?? 0) - (least ?? 0));
}

function codePointOf(member: RegExpExecArray | undefined): number {
  const [, long, hex, octal, character] = member ?? [];
  if (long !== undefined || hex !== undefined) return Number.parseInt(long ?? hex ?? '', 16);
  return octal === undefined ? (character?.codePointAt(0) ?? 0) : Number.parseInt(octal, 8);
}

/** How many steps an expression compiles to at most, and what its classes cost to compile. */
export function patternSize(source: string): number {
  // For each group that is open: the size of what is before its last part, and of that part.
  const open: { before: number; last: number }[] = [];
  let [before, last] = [0, 0];
  let tables = 0;
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
      if (part.startsWith('[') || /^\\[pP]/.test(part)) tables += classSteps(part);
    }
  }
  return open.reduce((sum, group) => sum + group.before, before + last) + tables + FIXED;
}
