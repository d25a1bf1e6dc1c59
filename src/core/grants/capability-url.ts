import { assertNoStackedAny, assertSegments, wildcardOf } from './capability-path.js';
import { ANY, notACapability, type Token } from './capability-trie.js';

export const HTTP_METHODS = ['get', 'head', 'post', 'put', 'patch', 'delete', 'options'] as const;
export type HttpMethod = (typeof HTTP_METHODS)[number];

const METHODS: ReadonlySet<string> = new Set(HTTP_METHODS);
/** How often a server may decode a path; what still changes after that is refused. */
const DECODING_LIMIT = 4;

/**
 * The one form of an http or https URL in which it is compared, recorded and requested: as the WHATWG parser gives it, without
 * fragment, and with the unreserved characters of its path decoded. Refuses user information, a trailing dot of the host, and in
 * the path what servers read differently, however it is encoded: separators, parameters, steps upwards. Throws `capability_invalid`.
 */
export function canonicalHttpUrl(text: string): URL {
  if (/\s/.test(text)) throw notACapability('A URL holds no space.');
  if (!URL.canParse(text)) throw notACapability('This is not a URL; write https://host/path.');
  const url = new URL(text);
  if (url.protocol !== 'https:' && url.protocol !== 'http:')
    throw notACapability('A URL starts with https:// or http://.');
  if (url.username !== '' || url.password !== '') throw notACapability('A URL holds no user name or password.');
  if (url.hostname.endsWith('.')) throw notACapability('The host of a URL does not end with a dot.');
  url.hash = '';
  url.pathname = url.pathname.replaceAll(/%[0-9a-f]{2}/gi, plainOctet);
  segmentsOf(url);
  return url;
}

/** RFC 3986, 6.2.2: an encoded unreserved character is that character, and the digits of the others are in upper case. */
function plainOctet(octet: string): string {
  const character = String.fromCharCode(Number.parseInt(octet.slice(1), 16));
  return /[\w.~-]/.test(character) ? character : octet.toUpperCase();
}

/** The segments of the path of a canonical URL, percent-decoded, so that two spellings of one address compare as equal. */
function segmentsOf(url: URL): readonly string[] {
  const encoded = url.pathname.slice(1).split('/');
  if (encoded.at(-1) === '') encoded.pop();
  assertSegments(encoded);
  return encoded.map((segment) => {
    if (segment === '') throw notACapability('The path of a URL holds no "//".');
    const decoded = decodeOnce(segment);
    if (decoded === null) throw notACapability('The percent-encoding of the path of a URL is UTF-8.');
    assertOneReading(decoded);
    return decoded;
  });
}

function assertOneReading(decoded: string): void {
  for (const [round, text] of decodings(decoded).entries()) {
    if (round === DECODING_LIMIT) throw notACapability('The path of a URL is encoded too often.');
    if (/\p{Cc}/u.test(text)) throw notACapability('The path of a URL holds no control character.');
    // A server that normalises Unicode reads the wide forms of these characters as the characters themselves.
    const folded = text.normalize('NFKC');
    if (/[/\\]/.test(folded)) throw notACapability('The path of a URL holds no encoded "/" or "\\".');
    if (folded.includes(';'))
      throw notACapability('The path of a URL holds no ";": servers read what is after it differently.');
    if (folded === '.' || folded === '..')
      throw notACapability('The path of a URL holds no encoded "." or ".." segment.');
  }
}

/** What a text is after each time that it is decoded, with the text itself. */
function decodings(first: string): readonly string[] {
  const texts = [first];
  for (let text: string | null = first; text !== null && texts.length <= DECODING_LIMIT; ) {
    const again = decodeOnce(text);
    text = again === text ? null : again;
    if (text !== null) texts.push(text);
  }
  return texts;
}

function decodeOnce(text: string): string | null {
  try {
    return decodeURIComponent(text);
  } catch {
    return null;
  }
}

/** Fixed places before the path, so that no part of one place can be taken for another. */
const addressTokens = (url: URL): readonly string[] => {
  const dot = url.hostname.indexOf('.');
  const [first, rest] = dot < 0 ? [url.hostname, ''] : [url.hostname.slice(0, dot), url.hostname.slice(dot + 1)];
  return [url.protocol, first, rest, url.port];
};

function methodOf(text: string): string {
  if (METHODS.has(text)) return text;
  throw notACapability(`The method is one of ${HTTP_METHODS.join(', ')}, in lower case.`);
}

/** `<method> <url>`, with the canonical URL as the text that is recorded. */
export function httpRequest(scope: string): { readonly text: string; readonly tokens: readonly Token[] } {
  const [method, address] = halves(scope);
  if (address === null) throw notACapability('A request names its URL: network:http:get https://host/path.');
  const url = canonicalHttpUrl(address);
  return { text: `${methodOf(method)} ${url.href}`, tokens: [method, ...addressTokens(url), ...segmentsOf(url)] };
}

/**
 * `<method>` for any address, or `<method> <scheme>://<host>[:port]/<path>`. The leftmost label of the host may be `*`, a segment
 * of the path `*` or `**`. The query of a request is not compared.
 */
export function httpPattern(scope: string): readonly Token[] {
  const [word, address] = halves(scope);
  const method = wildcardMethod(word);
  if (address === null) return [method, ANY];
  if (/[?#]/.test(address)) throw notACapability('A granted URL has no query and no fragment: every query is covered.');
  const match = /^(https?):\/\/([^/]+)(\/.*)$/.exec(address);
  const [, scheme, authority, path] = match ?? [];
  if (scheme === undefined || authority === undefined || path === undefined) {
    throw notACapability('A granted URL is written https://host/path; the path may be "/**".');
  }
  const tokens: readonly Token[] = [method, ...authorityPattern(scheme, authority), ...urlPathPattern(path)];
  assertNoStackedAny(tokens);
  return tokens;
}

const wildcardMethod = (word: string): Token => (word === '*' ? wildcardOf(word) : methodOf(word));

function halves(scope: string): readonly [string, string | null] {
  const space = scope.indexOf(' ');
  return space < 0 ? [scope, null] : [scope.slice(0, space), scope.slice(space + 1)];
}

function authorityPattern(scheme: string, authority: string): readonly Token[] {
  const wild = authority.startsWith('*.');
  const literal = wild ? `any.${authority.slice(2)}` : authority;
  if (literal.includes('*')) {
    throw notACapability('In a host "*" stands for the leftmost label alone: https://*.example.com/**.');
  }
  const url = canonicalHttpUrl(`${scheme}://${literal}/`);
  if (url.host !== literal) {
    throw notACapability(`The host is written in its canonical form: ${wild ? `*.${url.host.slice(4)}` : url.host}.`);
  }
  const [protocol = '', first = '', rest = '', port = ''] = addressTokens(url);
  if (!wild) return [protocol, first, rest, port];
  if (!rest.includes('.')) throw notACapability('A wildcard host has at least two labels after the "*".');
  return [protocol, wildcardOf('*'), rest, port];
}

function urlPathPattern(path: string): readonly Token[] {
  if (path === '/') return [];
  const segments = path.slice(1).split('/');
  assertSegments(segments);
  if (segments.includes('')) throw notACapability('The path of a granted URL has no "//" and does not end with "/".');
  return segments.map((segment) => {
    const token = wildcardOf(segment);
    if (typeof token !== 'string') return token;
    const url = canonicalHttpUrl(`https://host/${token}`);
    if (url.pathname !== `/${token}`) {
      throw notACapability(`The path of a granted URL is written in its canonical form: ${url.pathname.slice(1)}.`);
    }
    return segmentsOf(url)[0] ?? '';
  });
}

/** A URL as the most lenient server reads it: what grants that restrict (`deny`, `ask`) are compared by. */

/** The tokens before the scheme of a URL: domain, action, method. */
const BEFORE_SCHEME = 3;
/** Those before the path. */
const BEFORE_PATH = BEFORE_SCHEME + 4;
const WEB_PORTS: ReadonlySet<Token> = new Set(['', '80', '443']);
/** The separators, and signs that look like them or that a code page without Unicode writes as them. */
const SEPARATORS =
  /[/\\\u00a5\u1735\u2041\u2044\u20a9\u2215\u2216\u2571\u2572\u27cb\u27cd\u29f5\u29f8\u29f9\u2cc6\u3033\u31d3\u31d4]/;
/** What begins a query, a fragment, a parameter, or a stream of a file. */
const PATH_END = /[?#;]|::?\$/;
const ENDS = /[.\s]+$/;

/** Without the scheme, with ports 80 and 443 as one, and with the names of the path as the most lenient server reads them. */
export function lenientTokens(tokens: readonly Token[]): readonly Token[] {
  if (tokens.length < BEFORE_PATH) return tokens;
  const [, first = '', rest = '', port = ''] = tokens.slice(BEFORE_SCHEME, BEFORE_PATH);
  const host: readonly Token[] = ['', first, rest, WEB_PORTS.has(port) ? '' : port];
  return [...tokens.slice(0, BEFORE_SCHEME), ...host, ...pathOf(tokens).names];
}

/**
 * The further readings of a request, each by itself and together. A path ends at an encoded "?" (`/a%3F/b` is `/a`); a name without a
 * character left is passed over (`/a/%20/b` is `/a/b`); a suffix of the last name is the format of the answer (`/a.json` is `/a`).
 */
export function otherReadings(tokens: readonly Token[]): readonly (readonly Token[])[] {
  const head = lenientTokens(tokens).slice(0, BEFORE_PATH);
  const { names, ended } = pathOf(tokens);
  const [, ...others] = [names, ended]
    .flatMap((path) => (path === null ? [] : [path]))
    .flatMap((path) => (path.includes('') ? [path, path.filter((name) => name !== '')] : [path]))
    .flatMap((path) => [path, ...withoutSuffix(path)]);
  return others.map((path) => [...head, ...path]);
}

function withoutSuffix(path: readonly Token[]): readonly (readonly Token[])[] {
  const last = path.at(-1);
  const name = typeof last === 'string' ? /^(.+)\.[a-z0-9]{1,8}$/.exec(last)?.[1] : undefined;
  return name === undefined ? [] : [[...path.slice(0, -1), name.replace(ENDS, '')]];
}

/** The names of a path, and those up to where a query begins that is encoded; null: it has none, or the last name has it. */
function pathOf(tokens: readonly Token[]): {
  readonly names: readonly Token[];
  readonly ended: readonly Token[] | null;
} {
  const names: Token[] = [];
  let end: number | null = null;
  for (const token of tokens.slice(BEFORE_PATH)) {
    if (typeof token !== 'string') {
      names.push(token);
      continue;
    }
    for (const name of plain(token).split(SEPARATORS)) {
      names.push(nameOf(name));
      if (end === null && PATH_END.test(name)) end = names.length;
    }
  }
  return { names, ended: end === null || end === names.length ? null : names.slice(0, end) };
}

/** A segment without escapes, case, accents and invisible characters, in one form of Unicode. */
const plain = (segment: string): string =>
  (decodings(segment).at(-1) ?? segment)
    .normalize('NFKD')
    .replace(/[\p{Mn}\p{Me}\p{Cf}\p{Default_Ignorable_Code_Point}]/gu, '')
    .toUpperCase()
    .toLowerCase();

/** A name without a query, a parameter, a stream of a file, dots at its end, and spaces at both ends. */
const nameOf = (name: string): string =>
  (name.split(PATH_END, 1)[0] ?? '').replaceAll('+', ' ').trimStart().replace(ENDS, '');
