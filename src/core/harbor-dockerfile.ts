/** What a Dockerfile says that a task can say without building anything. */

export interface Dockerfile {
  readonly image: string | null;
  readonly workdir: string | null;
  readonly env: Readonly<Record<string, string>>;
  /** Files of the context, by their paths in it, and where they are copied to: an absolute path. */
  readonly copies: readonly { readonly from: string; readonly to: string; readonly line: number }[];
  /** Instructions that say nothing to a task. */
  readonly ignored: readonly string[];
  /** Instructions that would have to be built. */
  readonly unsupported: readonly string[];
}

const IGNORED = new Set(['CMD', 'ENTRYPOINT', 'EXPOSE', 'LABEL', 'MAINTAINER', 'STOPSIGNAL', 'HEALTHCHECK']);

interface Instruction {
  readonly line: number;
  readonly name: string;
  readonly rest: string;
}

/** Lines that end with a backslash go on in the next one; comments and empty lines are none. */
function instructionsOf(text: string): readonly Instruction[] {
  const found: Instruction[] = [];
  let begun: readonly string[] = [];
  let first = 0;
  for (const [index, raw] of text.split(/\r?\n/).entries()) {
    if (raw.trim() === '' || /^\s*#/.test(raw)) continue;
    const goesOn = /\\\s*$/.test(raw);
    if (begun.length === 0) first = index + 1;
    begun = [...begun, raw.replace(/\\\s*$/, '').trim()];
    if (goesOn) continue;
    const [, name = '', rest = ''] = /^(\S+)\s*(.*)$/.exec(begun.join(' ')) ?? [];
    found.push({ line: first, name: name.toUpperCase(), rest });
    begun = [];
  }
  return found;
}

/** An absolute path without "." and ".."; those above the root are the root. */
export function absolute(path: string, from = '/'): string {
  const parts: string[] = [];
  for (const part of (path.startsWith('/') ? path : `${from}/${path}`).split('/')) {
    if (part === '..') parts.pop();
    else if (part !== '' && part !== '.') parts.push(part);
  }
  return `/${parts.join('/')}`;
}

/** Reads a Dockerfile. `context`: the paths of the files beside it. What it cannot say without a build is in `unsupported`. */
export function readDockerfile(text: string, context: readonly string[]): Dockerfile {
  let image: string | null = null;
  let workdir: string | null = null;
  const env: Record<string, string> = {};
  const copies: { from: string; to: string; line: number }[] = [];
  const ignored: string[] = [];
  const unsupported: string[] = [];
  for (const { line, name, rest } of instructionsOf(text)) {
    const refuse = (): void => void unsupported.push(`line ${line}: ${`${name} ${rest}`.slice(0, 100)}`);
    if (IGNORED.has(name)) ignored.push(`line ${line}: ${name}`);
    else if (/[$`]|<</.test(rest)) refuse();
    else if (name === 'FROM') {
      const [, found] = /^([\w./:@-]+)(?:\s+as\s+\S+)?$/i.exec(rest) ?? [];
      if (found === undefined || image !== null) refuse();
      else image = found;
    } else if (name === 'WORKDIR') workdir = absolute(unquoted(rest), workdir ?? '/');
    else if (name === 'ENV') {
      const pairs = variablesIn(rest);
      if (pairs === null) refuse();
      else Object.assign(env, pairs);
    } else if (name === 'COPY') {
      const files = copied(rest, workdir ?? '/', context);
      if (files === null) refuse();
      else copies.push(...files.map((file) => ({ ...file, line })));
    } else refuse();
  }
  return { image, workdir, env, copies, ignored, unsupported };
}

const unquoted = (text: string): string => text.trim().replace(/^(["'])(.*)\1$/, '$2');

/** `A=1 B="two words"`, or `A value to the end`. */
function variablesIn(rest: string): Readonly<Record<string, string>> | null {
  const [, single, value] = /^([A-Za-z_]\w*)\s+(.+)$/.exec(rest) ?? [];
  if (single !== undefined && value !== undefined) return { [single]: value };
  const pair = /([A-Za-z_]\w*)=("[^"\\]*"|'[^']*'|[^\s"'\\]*)(?:\s+|$)/y;
  const found: Record<string, string> = {};
  while (pair.lastIndex < rest.length) {
    const [, key = '', given = ''] = pair.exec(rest) ?? [];
    if (key === '') return null;
    found[key] = unquoted(given);
  }
  return found;
}

/** Files and directories of the context, as `COPY a b /place/` copies them; null where it does something else. */
function copied(
  rest: string,
  workdir: string,
  context: readonly string[],
): readonly { readonly from: string; readonly to: string }[] | null {
  const words = rest.split(/\s+/).filter((word) => !/^--(chown|chmod)=/.test(word));
  const target = words.pop();
  if (target === undefined || words.length === 0 || [...words, target].some((word) => /^--|[*?["']/.test(word)))
    return null;
  const intoDirectory = target.endsWith('/') || target === '.' || words.length > 1;
  const place = absolute(target, workdir);
  const within = (name: string): string => absolute(name, place);
  const files: { from: string; to: string }[] = [];
  for (const word of words) {
    const source = absolute(word).slice(1);
    const below = source === '' ? '' : `${source}/`;
    const inside = context.filter((path) => path.startsWith(below));
    if (context.includes(source))
      files.push({ from: source, to: intoDirectory ? within(source.split('/').at(-1) ?? '') : place });
    else if (inside.length > 0) files.push(...inside.map((from) => ({ from, to: within(from.slice(below.length)) })));
    else return null;
  }
  return files;
}
