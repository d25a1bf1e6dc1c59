/**
 * What a capability is: `domain:action:scope`, split at the first two colons. A grant is a pattern, a request is literal; both
 * become lists of tokens, and all comparing is done on those (capability-trie.ts). Adding a domain is one line in DOMAINS.
 */
import { commandPattern, commandRequest } from './capability-command.js';
import { pathPattern, pathRequest } from './capability-path.js';
import { notACapability } from './capability-problem.js';
import { ANY, ONE, type Token } from './capability-trie.js';
import { httpPattern, httpRequest, lenientTokens, otherReadings } from './capability-url.js';
import {
  containerPattern,
  containerRequest,
  nameRequest,
  serverToolPattern,
  serverToolRequest,
  wordPattern,
  wordRequest,
} from './capability-word.js';

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
