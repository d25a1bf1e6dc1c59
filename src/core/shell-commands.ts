import { addTo } from './grouped.js';

/** The commands in a line of a shell, as far as its text tells them. */

/** Of a line so many commands are read, and of each so many characters. */
export const COMMANDS_MOST = 200;
const COMMAND_READ = 1000;
/** So many programs in a row that start the next one are told from it. */
const STARTERS_MOST = 10;

const BETWEEN: ReadonlySet<string> = new Set([...'|&;\n()`{}']);

/** A word of a shell. What is in quotes is one piece. */
const WORD = String.raw`(?:[^\s'"\\]|\\[\s\S]|'[^']*'|"(?:[^"\\]|\\[\s\S])*")+`;
const FIRST_WORD = new RegExp(WORD, 'y');
/** What stands before a program and starts none: redirections and variables. */
const BESIDE = new RegExp(String.raw`(?:\d*[<>]+\s*${WORD}|[A-Za-z_]\w*\+?=(?:${WORD})?)(?:\s+|$)`, 'y');
const SPACE = /\s*/y;
/** A shell with its options; some of these have a value, as in `bash -euo pipefail`. */
const SHELL = String.raw`(?:\S*\/)?(?:ba|da|z|k)?sh(?:\s+(?:[-+]\w*[oO]\s+\w+|--(?:rcfile|init-file)\s+[^\s-]\S*|[-+][^\s<>'"]*))*`;
/** A shell that reads its commands from its input. */
const READS_INPUT = new RegExp(String.raw`^${SHELL}(?:\s*$|\s+[<\d])`);
const HEREDOC = /<<(-?)[ \t]*(?:'([^'\n]+)'|"([^"\n]+)"|\\?([^\s'"\\|&;()<>`]+))/y;

/** Words of a shell that stand before a program. */
const KEYWORDS = new Set(['if', 'elif', 'while', 'until', 'then', 'do', 'else', '!']);
interface Starter {
  readonly valued: string;
  readonly words: number;
}

/** Programs that start another one: their options which take a value, by a letter, and how many words follow these. */
const STARTERS = new Map<string, Starter>(
  [
    ...[['sudo', 'ugphCrtTRD', 0] as const, ['doas', 'uC', 0] as const, ['env', 'uCS', 0] as const],
    ...[['exec', 'a', 0] as const, ['command', '', 0] as const, ['time', 'fo', 0] as const, ['setsid', '', 0] as const],
    ...[['nice', 'n', 0] as const, ['ionice', 'cnp', 0] as const, ['stdbuf', 'ioe', 0] as const],
    ...[['timeout', 'sk', 1] as const, ['xargs', 'nIPdLsEa', 0] as const, ['nohup', '', 0] as const],
    ...[['coproc', '', 0] as const, ['builtin', '', 0] as const],
  ].map(([name, valued, words]) => [name, { valued, words }] as const),
);

/** A word without its quotes. */
const bare = (word: string): string =>
  word.replaceAll(
    /'([^']*)'|"((?:[^"\\]|\\[\s\S])*)"|\\([\s\S])/g,
    (_whole, single, double, one) => single ?? double ?? one,
  );

interface Heredoc {
  readonly end: string;
  readonly tabs: boolean;
}

/** The lines of a text, by what they say: where the first one begins that is not before a place. */
class LinesOf {
  readonly #text: string;
  #starts: Map<string, number[]> | null = null;

  constructor(text: string) {
    this.#text = text;
  }

  /** -1: there is none. */
  next(line: string, from: number): number {
    this.#starts ??= this.#read();
    const found = this.#starts.get(line) ?? [];
    let [low, high] = [0, found.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((found[middle] ?? 0) < from) low = middle + 1;
      else high = middle;
    }
    return found[low] ?? -1;
  }

  #read(): Map<string, number[]> {
    const starts = new Map<string, number[]>();
    let at = 0;
    for (const line of this.#text.split('\n')) {
      for (const one of new Set([line, `\t${line.replace(/^\t+/, '')}`])) addTo(starts, one, at);
      at += line.length + 1;
    }
    return starts;
  }
}

interface Piece {
  readonly text: string;
  /** A document that a shell reads: a text of commands. */
  readonly isBody: boolean;
}

/** Reads the parts of a text that stand between its separators. Left out are comments, and documents of `<<` that no shell reads. */
class Pieces {
  readonly #text: string;
  readonly #lines: LinesOf;
  #from = 0;
  #at = 0;
  /** Whether a command of this line reads its commands from its input. */
  #isRead = false;
  #begun: Heredoc[] = [];

  constructor(text: string) {
    this.#text = text;
    this.#lines = new LinesOf(text);
  }

  *read(): Generator<Piece> {
    for (; this.#at < this.#text.length; this.#at++) {
      const one = this.#text.charAt(this.#at);
      if (one === '\\') this.#at++;
      else if (one === '"' || one === "'") this.#pastQuote(one);
      else if (one === '<') this.#pastHeredoc();
      else if (BETWEEN.has(one)) {
        yield this.#piece();
        this.#from = this.#at + 1;
        if (one === '\n') yield* this.#documents();
      } else if (one === '#' && (this.#at === this.#from || /\s/.test(this.#text.charAt(this.#at - 1)))) {
        yield this.#piece();
        const end = this.#text.indexOf('\n', this.#at);
        this.#from = end < 0 ? this.#text.length : end;
        this.#at = this.#from - 1;
      }
    }
    yield this.#piece();
  }

  #piece(): Piece {
    const text = this.#text.slice(this.#from, this.#at);
    this.#isRead ||= formsOf(text).some((one) => READS_INPUT.test(one));
    return { text, isBody: false };
  }

  #pastQuote(quote: string): void {
    for (this.#at++; this.#at < this.#text.length && this.#text.charAt(this.#at) !== quote; this.#at++)
      if (quote === '"' && this.#text.charAt(this.#at) === '\\') this.#at++;
  }

  #pastHeredoc(): void {
    if (this.#text.startsWith('<<<', this.#at)) {
      this.#at += 2;
      return;
    }
    HEREDOC.lastIndex = this.#at;
    const [whole, dash, single, double, plain] = HEREDOC.exec(this.#text) ?? [];
    const end = single ?? double ?? plain;
    if (whole === undefined || end === undefined) return;
    this.#begun.push({ end, tabs: dash === '-' });
    this.#at += whole.length - 1;
  }

  /** The documents that begin behind a line. */
  *#documents(): Generator<Piece> {
    for (const { end, tabs } of this.#begun) {
      const stop = this.#lines.next(tabs ? `\t${end}` : end, this.#from);
      // One that does not end is none, such as a shift of bits.
      if (stop < 0) continue;
      if (this.#isRead) yield { text: this.#text.slice(this.#from, stop), isBody: true };
      const behind = this.#text.indexOf('\n', stop);
      this.#from = behind < 0 ? this.#text.length : behind + 1;
    }
    [this.#begun, this.#isRead, this.#at] = [[], false, this.#from - 1];
  }
}

/** The word at a place, and where the next one begins; null: there is none. */
function wordAt(text: string, at: number): { readonly word: string; readonly next: number } | null {
  FIRST_WORD.lastIndex = at;
  const [word] = FIRST_WORD.exec(text) ?? [];
  if (word === undefined) return null;
  return { word, next: pastSpace(text, at + word.length) };
}

function pastSpace(text: string, at: number): number {
  SPACE.lastIndex = at;
  return at + (SPACE.exec(text)?.[0].length ?? 0);
}

/** Where the program begins that a starter starts, behind its options. */
function pastOptions(text: string, from: number, { valued, words }: Starter) {
  let at = from;
  for (let one = wordAt(text, at); one?.word.startsWith('-'); one = wordAt(text, at)) {
    at = one.next;
    if (one.word === '--') break;
    const isValued = /^-\w+$/.test(one.word) && one.word.slice(1).search(`[${valued}.]`) === one.word.length - 2;
    if (isValued && valued.includes(one.word.slice(-1))) at = wordAt(text, at)?.next ?? at;
  }
  for (let left = words; left > 0; left--) at = wordAt(text, at)?.next ?? at;
  return at;
}

/**
 * The commands that a part of a text is: its program without what says its variables and files. One that starts another one, as
 * `sudo` does, and the other one.
 */
function formsOf(part: string): readonly string[] {
  const text = part.replaceAll('\\\n', '').trim();
  const forms: string[] = [];
  for (let at = 0; ; ) {
    BESIDE.lastIndex = at;
    const beside = BESIDE.exec(text)?.[0].length ?? 0;
    const first = beside > 0 ? null : wordAt(text, at);
    if (beside > 0) {
      at += beside;
      continue;
    }
    if (first === null) return at < text.length ? [...forms, text.slice(at)] : forms;
    const program = bare(first.word);
    const name = program.split('/').at(-1) ?? '';
    const isLast = first.next >= text.length;
    if (!isLast && KEYWORDS.has(name)) {
      at = first.next;
      continue;
    }
    forms.push(program + text.slice(at + first.word.length));
    const starter = STARTERS.get(name);
    if (isLast || starter === undefined || forms.length > STARTERS_MOST) return forms;
    at = pastOptions(text, first.next, starter);
  }
}

/** What `sh -c` and `eval` run. */
const GIVEN = new RegExp(String.raw`^(?:${SHELL}\s+-\w*c|eval)\s+(['"])`);

function givenIn(command: string): string | null {
  const [whole, quote] = GIVEN.exec(command) ?? [];
  if (whole === undefined) return null;
  const start = whole.length;
  for (let at = start; at < command.length; at++) {
    if (command.charAt(at) === '\\' && quote === '"') at++;
    else if (command.charAt(at) === quote) return command.slice(start, at);
  }
  return null;
}

/** The commands in a text, and one more than `COMMANDS_MOST` at most. Text in quotes is not read, but for that of `sh -c`. */
export function commandsIn(text: string): readonly string[] {
  const commands: string[] = [];
  const texts = [text];
  // A text that was read stays: shells within shells count, too.
  for (let at = 0; at < texts.length; at++) {
    if (at > COMMANDS_MOST) return Array.from({ length: COMMANDS_MOST + 1 }, () => '');
    for (const piece of new Pieces(texts[at] ?? '').read()) {
      for (const command of piece.isBody ? [] : formsOf(piece.text)) {
        const given = givenIn(command);
        if (given !== null) texts.push(given);
        else commands.push(command.slice(0, COMMAND_READ).trim().split(/\s+/).join(' '));
      }
      if (piece.isBody) texts.push(piece.text);
      if (commands.length > COMMANDS_MOST) return commands;
    }
  }
  return commands;
}
