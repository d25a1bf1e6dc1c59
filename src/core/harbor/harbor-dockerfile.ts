/** What a Dockerfile says that a task can say without building anything. */

export interface Dockerfile {
  readonly image: string | null;
  readonly workdir: string | null;
  readonly env: Readonly<Record<string, string>>;
  /** Files of the context, by their paths in it, and where they are copied to: an absolute path. */
  readonly copies: readonly Copied[];
  /** Absolute paths of directories that it makes or works in. */
  readonly directories: readonly string[];
  /** Instructions that say nothing to a task. */
  readonly ignored: readonly string[];
  /** Instructions that would have to be built. */
  readonly unsupported: readonly string[];
}

export interface Copied {
  readonly from: string;
  readonly to: string;
  /** As `--chmod` has it; null: that of the file. */
  readonly mode: string | null;
  readonly line: number;
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
  /** The last line of a here-document that is open. */
  let until: string | null = null;
  for (const [index, raw] of text.split(/\r?\n/).entries()) {
    if (until !== null) {
      if (raw.trim() === until) until = null;
      continue;
    }
    if (raw.trim() === '' || /^\s*#/.test(raw)) continue;
    const goesOn = /\\\s*$/.test(raw);
    if (begun.length === 0) first = index + 1;
    begun = [...begun, raw.replace(/\\\s*$/, '').trim()];
    if (goesOn) continue;
    const [, name = '', rest = ''] = /^(\S+)\s*(.*)$/.exec(begun.join(' ')) ?? [];
    found.push({ line: first, name: name.toUpperCase(), rest });
    begun = [];
    until = /^(?:RUN|COPY|ADD)$/i.test(name) ? (/<<-?(["']?)(\w+)\1/.exec(rest)?.[2] ?? null) : null;
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
  const reader = new Reader(context);
  for (const instruction of instructionsOf(text)) reader.read(instruction);
  return reader;
}

class Reader implements Dockerfile {
  image: string | null = null;
  workdir: string | null = null;
  readonly env: Record<string, string> = {};
  readonly copies: Copied[] = [];
  readonly directories: string[] = [];
  readonly ignored: string[] = [];
  readonly unsupported: string[] = [];
  readonly #context: readonly string[];

  constructor(context: readonly string[]) {
    this.#context = context;
  }

  read({ line, name, rest }: Instruction): void {
    if (name === 'RUN') this.directories.push(...madeIn(rest, this.workdir ?? '/'));
    if (name === 'RUN' && ONLY_MAKES.test(rest)) return;
    if (IGNORED.has(name)) this.ignored.push(`line ${line}: ${name}`);
    else if (/[$`]|<</.test(rest) || !this.#converts(name, rest, line))
      this.unsupported.push(`line ${line}: ${`${name} ${rest}`.slice(0, 100)}`);
  }

  #converts(name: string, rest: string, line: number): boolean {
    switch (name) {
      case 'FROM':
        return this.#from(rest);
      case 'WORKDIR':
        this.workdir = absolute(unquoted(rest), this.workdir ?? '/');
        this.directories.push(this.workdir);
        return true;
      case 'ENV': {
        const pairs = variablesIn(rest);
        Object.assign(this.env, pairs);
        return pairs !== null;
      }
      case 'ADD':
        return !/:\/\/|\.(tar|t?gz|t?bz2|t?xz|zst)\b/.test(rest) && this.#copy(rest, line);
      case 'COPY':
        return this.#copy(rest, line);
      default:
        return false;
    }
  }

  #from(rest: string): boolean {
    const [, found] = /^([\w./:@-]+)(?:\s+as\s+\S+)?$/i.exec(rest) ?? [];
    if (found === undefined || this.image !== null) return false;
    this.image = found;
    return true;
  }

  #copy(rest: string, line: number): boolean {
    const files = copied(rest, this.workdir ?? '/', this.#context);
    this.copies.push(...(files ?? []).map((file) => ({ ...file, line })));
    return files !== null;
  }
}

/** A command that makes directories and does nothing else. */
const ONLY_MAKES = /^mkdir(?:\s+[\w./@:=+-]+)+\s*$/;

/** Directories that a command line makes, where every path is plain. */
function madeIn(commands: string, workdir: string): readonly string[] {
  return commands.split(/&&|;|\|\|/).flatMap((command) => {
    const [program, ...words] = command.trim().split(/\s+/);
    if (program !== 'mkdir' || !words.every((word) => /^[\w./@:=+-]+$/.test(word))) return [];
    return words.flatMap((word) => (word.startsWith('-') ? [] : [absolute(word, workdir)]));
  });
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

/** The words of an instruction, of a list in JSON or without its quotes; null: they are written in another way. */
const words = (rest: string): readonly string[] | null => {
  if (rest.trimStart().startsWith('[')) {
    try {
      const list: unknown = JSON.parse(rest);
      return Array.isArray(list) && list.every((one) => typeof one === 'string') ? list : null;
    } catch {
      return null;
    }
  }
  const found = rest.match(/(?:"[^"]*"|'[^']*'|[^\s"'])+/g) ?? [];
  const isPlain = !rest.includes('\\') && found.join(' ') === rest.trim().replaceAll(/\s+/g, ' ');
  return isPlain ? found.map((word) => word.replaceAll(/["']/g, '')) : null;
};

/** Where a word names several files of the context, by `*` and `?`: their paths, and those of the directories that it names. */
function named(word: string, context: readonly string[]): readonly string[] {
  const source = absolute(word).slice(1);
  if (!/[*?]/.test(source)) return [source];
  if (/[[\]]/.test(source)) return [];
  const pattern = source
    .replaceAll(/[.+^${}()|]/g, '\\$&')
    .replaceAll('*', '[^/]*')
    .replaceAll('?', '[^/]');
  const whole = new RegExp(`^(${pattern})(?:/|$)`);
  return [...new Set(context.flatMap((path) => whole.exec(path)?.[1] ?? []))];
}

/** Files and directories of the context, as `COPY a b /place/` copies them; null where it does something else. */
function copied(rest: string, workdir: string, context: readonly string[]): readonly Omit<Copied, 'line'>[] | null {
  const flags = /^(?:--\S+\s+)*/.exec(rest)?.[0] ?? '';
  if (/--(?!(?:chown|chmod|link)\b)/.test(flags)) return null;
  const mode = /--chmod=0?([0-7]{3})\b/.exec(flags)?.[1] ?? null;
  const given = [...(words(rest.slice(flags.length)) ?? [])];
  const target = given.pop();
  if (target === undefined || given.length === 0 || /[*?]/.test(target)) return null;
  const sources = given.flatMap((word) => named(word, context));
  const intoDirectory = target.endsWith('/') || target === '.' || sources.length > 1 || given.length > 1;
  const place = absolute(target, workdir);
  const within = (name: string): string => absolute(name, place);
  const files: Omit<Copied, 'line'>[] = [];
  for (const source of sources) {
    const below = source === '' ? '' : `${source}/`;
    const inside = context.filter((path) => path.startsWith(below));
    if (context.includes(source))
      files.push({ from: source, to: intoDirectory ? within(source.split('/').at(-1) ?? '') : place, mode });
    else if (inside.length > 0)
      files.push(...inside.map((from) => ({ from, to: within(from.slice(below.length)), mode })));
    else return null;
  }
  return sources.length === 0 ? null : files;
}
