import { ANY, notACapability, ONE, type Token } from './capability-trie.js';

const PROCESS_DIRECTORY = /^(self|thread-self|[0-9]+)$/;
const PROCESS_DEVICE = /^(fd|stdin|stdout|stderr)$/;

/** Names in /proc and /dev that lead to whatever the asking process has open, so that no grant can be about them. */
function isProcessView(segments: readonly string[]): boolean {
  const [top, name] = segments;
  if (name === undefined) return false;
  return (top === 'proc' && PROCESS_DIRECTORY.test(name)) || (top === 'dev' && PROCESS_DEVICE.test(name));
}

const PATH_BYTES = 4096;
const SEGMENTS = 256;

/** Throws where a path, of a file or of a URL, has more segments than is compared. */
export function assertSegments(segments: readonly string[]): void {
  if (segments.length <= SEGMENTS) return;
  throw notACapability(`A path has at most ${SEGMENTS} segments; this one has ${segments.length}.`);
}

/**
 * The segments of an absolute POSIX path that is already in its only form. Nothing is decoded, resolved or normalised: a path
 * that another reader could take for another file is refused.
 */
function segmentsOf(path: string): readonly string[] {
  if (!path.startsWith('/'))
    throw notACapability('A path starts with "/": relative paths, "~" and URLs are not paths here.');
  if (path.includes('\\')) throw notACapability('A path holds no backslash.');
  if (path === '/') return [];
  const size = Buffer.byteLength(path);
  if (size > PATH_BYTES) throw notACapability(`A path has at most ${PATH_BYTES} bytes; this one has ${size}.`);
  const segments = path.slice(1).split('/');
  assertSegments(segments);
  if (segments.at(-1) === '') throw notACapability('A path does not end with "/".');
  if (segments.includes('')) throw notACapability('A path holds no "//".');
  if (segments.some((segment) => segment === '.' || segment === '..')) {
    throw notACapability('A path holds no "." or ".." segment.');
  }
  for (const segment of segments) {
    const folded = segment.normalize('NFKC');
    if (folded === '.' || folded === '..' || folded.includes('/') || folded.includes('\\')) {
      throw notACapability('A path holds no character that Unicode normalisation turns into a separator or dots.');
    }
  }
  if (isProcessView(segments))
    throw notACapability('A path under /proc/<process> or /dev/fd names the process itself.');
  return segments;
}

/** A path as it is asked for: wildcard characters are letters of a name. */
export const pathRequest = (scope: string): readonly Token[] => segmentsOf(scope);

/** A path as it is granted: `*` for one segment, `**` for any number of segments, none included. */
export function pathPattern(scope: string): readonly Token[] {
  const tokens = segmentsOf(scope).map(wildcardOf);
  assertNoStackedAny(tokens);
  return tokens;
}

/** The token of one segment of a pattern. A wildcard inside a word would mean something else to every reader: refused. */
export function wildcardOf(segment: string): Token {
  if (segment === '*') return ONE;
  if (segment === '**') return ANY;
  if (segment.includes('*')) {
    throw notACapability('A wildcard stands alone between two "/": "*" is one segment, "**" any number of them.');
  }
  return segment;
}

export function assertNoStackedAny(tokens: readonly Token[]): void {
  if (tokens.some((token, index) => token === ANY && tokens[index + 1] === ANY)) {
    throw notACapability('"**/**" says the same as "**".');
  }
}
