import type { Token } from './capability-trie.js';
import { decodings } from './capability-url.js';

/** A URL as the most lenient server reads it: what grants that restrict (`deny`, `ask`) are compared by. */

/** The tokens before the scheme of a URL: domain, action, method. */
const BEFORE_SCHEME = 3;
/** Those before the path. */
const BEFORE_PATH = BEFORE_SCHEME + 4;
const WEB_PORTS: ReadonlySet<Token> = new Set(['', '80', '443']);
/** The separators, and signs that a server without Unicode turns into them. */
const SEPARATORS = /[/\\\u2044\u2215\u2216\u29f5\u29f8]/;
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
    .replace(/[\u0300-\u036f\p{Cf}\p{Default_Ignorable_Code_Point}]/gu, '')
    .toUpperCase()
    .toLowerCase();

/** A name without a query, a parameter, a stream of a file, dots at its end, and spaces at both ends. */
const nameOf = (name: string): string =>
  (name.split(PATH_END, 1)[0] ?? '').replaceAll('+', ' ').trimStart().replace(ENDS, '');
