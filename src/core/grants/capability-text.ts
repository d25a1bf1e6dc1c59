import { z } from 'zod';
import { pathPattern, pathRequest } from './capability-path.js';
import { ANY, notACapability, ONE, OPERAND, type Token } from './capability-trie.js';
import { httpPattern, httpRequest, lenientTokens, otherReadings } from './capability-url.js';

/**
 * What a capability is: `domain:action:scope`, split at the first two colons. A grant is a pattern, a request is literal; both
 * become lists of tokens, and all comparing is done on those (capability-trie.ts). Adding a domain is one line in DOMAINS.
 */

export interface ParsedCapability {
  /** The normalised text. */
  readonly text: string;
  readonly tokens: readonly Token[];
  /** The tokens that a grant which denies or asks is compared by, so that the comparison errs to restriction. */
  readonly lenient: readonly Token[];
  /** Further readings of a request by such grants. */
  readonly alike: readonly (readonly Token[])[];
}

interface Domain {
  /** Null: any. */
  readonly actions: readonly string[] | null;
  readonly pattern: (scope: string, action: string) => readonly Token[];
  readonly request: (
    scope: string,
    action: string,
  ) => readonly Token[] | { readonly text: string; readonly tokens: readonly Token[] };
  /** Where a server may read two texts as one. */
  readonly lenient?: (tokens: readonly Token[]) => readonly Token[];
  readonly alike?: (tokens: readonly Token[]) => readonly (readonly Token[])[];
}

const DOMAINS: ReadonlyMap<string, Domain> = new Map<string, Domain>([
  ['fs', { actions: ['read', 'write', 'delete', 'chmod'], pattern: pathPattern, request: pathRequest }],
  [
    'network',
    { actions: ['http'], pattern: httpPattern, request: httpRequest, lenient: lenientTokens, alike: otherReadings },
  ],
  ['proc', { actions: ['exec'], pattern: commandPattern, request: commandRequest }],
  ['tool', { actions: ['call'], pattern: nameRequest, request: nameRequest }],
  ['container', { actions: ['exec', 'read', 'write'], pattern: containerPattern, request: containerRequest }],
  ['mcp', { actions: ['call'], pattern: serverToolPattern, request: serverToolRequest }],
]);

/** Any other domain belongs to the user's own tools. */
const OWN_DOMAIN: Domain = { actions: null, pattern: wordPattern, request: wordRequest };

const BYTES_LIMIT = 8192;
const WORD = /^[a-z][a-z0-9_-]{0,63}$/;
/** Control, format (zero-width, bidirectional) and line-breaking characters: what a person cannot see, no one grants. */
const INVISIBLE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u;

export const EVERYTHING = '*:*:*';

/** Parses what a grant says. Throws `capability_invalid`. */
export function parsePattern(text: string): ParsedCapability {
  const [domain, action, scope] = fieldsOf(text);
  if (domain !== '*') assertWord('domain', domain);
  const known = DOMAINS.get(domain) ?? OWN_DOMAIN;
  if (action !== '*') assertAction(domain, action, known);
  const head = [domain, action].map((field) => (field === '*' ? ONE : field));
  if (scope === '*') return parsed(text, known, [...head, ANY]);
  if (domain === '*') throw notACapability('Where the domain is "*", the scope is "*" too.');
  return parsed(text, known, [...head, ...known.pattern(scope, action)]);
}

/** Parses what a tool asks for: everything in it is literal. Throws `capability_invalid`. */
export function parseRequest(text: string): ParsedCapability {
  const [domain, action, scope] = fieldsOf(text);
  assertWord('domain', domain);
  const known = DOMAINS.get(domain) ?? OWN_DOMAIN;
  assertAction(domain, action, known);
  const request = known.request(scope, action);
  const made =
    'tokens' in request
      ? parsed(`${domain}:${action}:${request.text}`, known, [domain, action, ...request.tokens])
      : parsed(text, known, [domain, action, ...request]);
  return { ...made, alike: known.alike?.(made.tokens) ?? [] };
}

const parsed = (text: string, { lenient }: Domain, tokens: readonly Token[]): ParsedCapability => ({
  ...{ text, tokens },
  lenient: lenient?.(tokens) ?? tokens,
  alike: [],
});

function fieldsOf(text: string): readonly [string, string, string] {
  if (typeof text !== 'string') throw notACapability('A capability is a text.');
  if (text.length > BYTES_LIMIT || Buffer.byteLength(text) > BYTES_LIMIT) {
    throw notACapability(`A capability has at most ${BYTES_LIMIT} bytes.`);
  }
  if (!text.isWellFormed() || INVISIBLE.test(text)) throw notACapability('A capability holds no invisible characters.');
  const first = text.indexOf(':');
  const second = text.indexOf(':', first + 1);
  if (first < 0 || second < 0) throw notACapability('A capability is written domain:action:scope.');
  const fields = [text.slice(0, first), text.slice(first + 1, second), text.slice(second + 1)] as const;
  if (fields.includes('')) throw notACapability('No part of domain:action:scope is empty.');
  return fields;
}

function assertWord(field: string, word: string): void {
  if (WORD.test(word)) return;
  throw notACapability(`The ${field} is a lower-case word ([a-z][a-z0-9_-]*), or "*" alone in a grant.`);
}

function assertAction(domain: string, action: string, known: Domain): void {
  assertWord('action', action);
  if (known.actions === null || known.actions.includes(action)) return;
  throw notACapability(`The domain "${domain}" has the action ${known.actions.map((word) => `"${word}"`).join(', ')}.`);
}

const NAME = /^[A-Za-z0-9_.-]+$/;

/** An id that only its own domain understands: compared as a whole, never in parts. */
function wordRequest(scope: string): readonly Token[] {
  if (scope.trim() !== scope) throw notACapability('A scope does not begin or end with a space.');
  return [scope];
}

function wordPattern(scope: string): readonly Token[] {
  if (scope.includes('*')) throw notACapability('In this domain "*" stands alone as the scope, or not at all.');
  return wordRequest(scope);
}

/** The name of a tool. */
function nameRequest(scope: string): readonly Token[] {
  if (!NAME.test(scope)) throw notACapability('A tool is named with letters, digits, "_", "-" and ".".');
  return [scope];
}

/** `<server>/<tool>` of a server of the Model Context Protocol. */
function serverToolRequest(scope: string): readonly Token[] {
  const parts = scope.split('/');
  if (parts.length !== 2 || !parts.every((part) => NAME.test(part))) {
    throw notACapability('A tool of a server is written <server>/<tool>.');
  }
  return parts;
}

/** As a request; the tool may be `*`. */
function serverToolPattern(scope: string): readonly Token[] {
  if (!scope.endsWith('/*')) return serverToolRequest(scope);
  const server = scope.slice(0, -2);
  return [...nameRequest(server), ONE];
}

/** A shell runs whatever its command says: more than that it may be asked for a grant cannot say. */
const SHELL = 'shell';

/** In the container of a run: `exec:shell`, and paths to read and to write. */
function containerRequest(scope: string, action: string): readonly Token[] {
  return action === 'exec' ? shell(scope) : pathRequest(scope);
}

/** As a request; paths with `*` and `**`. */
function containerPattern(scope: string, action: string): readonly Token[] {
  return action === 'exec' ? shell(scope) : pathPattern(scope);
}

function shell(scope: string): readonly Token[] {
  if (scope !== SHELL) throw notACapability(`In a container, what is executed is "${SHELL}".`);
  return [scope];
}

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
function commandRequest(scope: string): { readonly text: string; readonly tokens: readonly Token[] } {
  const tokens = tokensOf(scope).map(({ text }) => text);
  assertProgram(tokens[0]);
  return { text: commandScope(tokens), tokens };
}

/** As a request; a bare `*` stands for exactly one argument that is not an option. The program is always named. */
function commandPattern(scope: string): readonly Token[] {
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
