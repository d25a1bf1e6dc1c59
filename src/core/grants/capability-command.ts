import { z } from 'zod';
import { notACapability } from './capability-problem.js';
import { OPERAND, type Token } from './capability-trie.js';

/** Characters that mean something to a shell, a quote or a reader: a token with one of them is written as a JSON string. */
const NEEDS_QUOTES = /[\s"'\\`$;&|<>(){}[\]!#~*?\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u;

/** The capability to run one command, given as its argument vector. No shell ever reads it. */
export const commandCapability = (argv: readonly string[]): string => `proc:exec:${commandScope(argv)}`;

const commandScope = (argv: readonly string[]): string =>
  argv.map((token) => (token === '' || NEEDS_QUOTES.test(token) ? quoted(token) : token)).join(' ');

/** JSON, with the format characters escaped as well: a capability shows every character that it holds. */
const quoted = (token: string): string =>
  JSON.stringify(token).replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, (character) =>
    Array.from({ length: character.length }, (_, at) => `\\u${hex(character.charCodeAt(at))}`).join(''),
  );

const hex = (code: number): string => code.toString(16).padStart(4, '0');

/** The tokens of a command. The program and every argument must be equal: nothing is a prefix of anything. */
export function commandRequest(scope: string): { readonly text: string; readonly tokens: readonly Token[] } {
  const tokens = tokensOf(scope).map(({ text }) => text);
  assertProgram(tokens[0]);
  return { text: commandScope(tokens), tokens };
}

/** As a request; a bare `*` stands for exactly one argument that is not an option. The program is always named. */
export function commandPattern(scope: string): readonly Token[] {
  const tokens = tokensOf(scope, '*').map(({ text, bare }) => (bare && text === '*' ? OPERAND : text));
  assertProgram(tokens[0]);
  return tokens;
}

function assertProgram(token: Token | undefined): void {
  if (typeof token !== 'string' || token === '') throw notACapability('A command names its program.');
  if (token.includes('=')) throw notACapability('A command sets no environment variables.');
}

function tokensOf(scope: string, wildcard?: string): readonly { readonly text: string; readonly bare: boolean }[] {
  const tokens: { text: string; bare: boolean }[] = [];
  for (let rest = scope; ; ) {
    const quote = /^"(?:[^"\\]|\\.)*"/.exec(rest)?.[0];
    const word = quote ?? /^[^ ]*/.exec(rest)?.[0] ?? '';
    if (quote === undefined && word !== wildcard && (word === '' || NEEDS_QUOTES.test(word))) {
      throw notACapability(
        'The tokens of a command are separated by one space; one with special characters is a JSON string.',
      );
    }
    tokens.push(quote === undefined ? { text: word, bare: true } : { text: unquoted(quote), bare: false });
    rest = rest.slice(word.length);
    if (rest === '') return tokens;
    if (!rest.startsWith(' ')) throw notACapability('The tokens of a command are separated by one space.');
    rest = rest.slice(1);
  }
}

function unquoted(quote: string): string {
  try {
    return z.string().parse(JSON.parse(quote));
  } catch {
    throw notACapability('A quoted token of a command is a JSON string.');
  }
}
