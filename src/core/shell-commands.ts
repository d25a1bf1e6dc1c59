import { addTo } from './grouped.js';
import { bare, handedBy, startedBy, WORD, wordAt } from './shell-starters.js';

/** The commands in a line of a shell, as far as its text tells them. */

/** Of a line so many commands are read, and of each so many characters. */
export const COMMANDS_MOST = 200;
const COMMAND_READ = 1000;

const BETWEEN: ReadonlySet<string> = new Set([...'|&;\n()`{}']);

/** What stands before a program and starts none: redirections and variables. */
const BESIDE = new RegExp(String.raw`(?:\d*[<>]+\s*${WORD}|[A-Za-z_]\w*\+?=(?:${WORD})?)(?:\s+|$)`, 'y');
/** A shell with its options; some of these have a value, as in `bash -euo pipefail`. */
const SHELL = String.raw`(?:\S*\/)?(?:ba|da|z|k)?sh(?:\s+(?:[-+]\w*[oO]\s+\w+|--(?:rcfile|init-file)\s+[^\s-]\S*|[-+][^\s<>'"]*))*`;
/** A shell that reads its commands from its input. */
const READS_INPUT = new RegExp(String.raw`^${SHELL}(?:\s*$|\s+[<\d])`);
const HEREDOC = /<<(-?)[ \t]*(?:'([^'\n]+)'|"([^"\n]+)"|\\?([^\s'"\\|&;()<>`]+))/y;

/** Words of a shell that stand before a program. */
const KEYWORDS = new Set(['if', 'elif', 'while', 'until', 'then', 'do', 'else', '!']);
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
      // `find` and `xargs` put something in its place.
      else if (this.#text.startsWith('{}', this.#at)) this.#at++;
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

/**
 * The commands that a part of a text is: its program without what says its variables and files. One that starts another one, as
 * `sudo` does, and the other one.
 */
function formsOf(part: string): readonly string[] {
  const text = part.replaceAll('\\\n', '').trim();
  const forms: string[] = [];
  const places = [0];
  for (let next = 0; next < places.length && forms.length <= COMMANDS_MOST; next++) {
    const at = programFrom(text, places[next] ?? 0);
    const first = wordAt(text, at);
    if (first === null) {
      if (at < text.length) forms.push(text.slice(at));
      continue;
    }
    const program = bare(first.word);
    forms.push(program + text.slice(at + first.word.length));
    if (first.next < text.length) places.push(...startedBy(nameOf(program), text, first.next));
  }
  return forms;
}

/** Where a program begins behind redirections, variables and words of the shell. */
function programFrom(text: string, from: number): number {
  for (let at = from; ; ) {
    BESIDE.lastIndex = at;
    const beside = BESIDE.exec(text)?.[0].length ?? 0;
    if (beside > 0) {
      at += beside;
      continue;
    }
    const first = wordAt(text, at);
    if (first === null || first.next >= text.length || !KEYWORDS.has(nameOf(bare(first.word)))) return at;
    at = first.next;
  }
}

const nameOf = (program: string): string => program.split('/').at(-1) ?? '';

/** Stands before the text that a shell runs. */
const GIVEN = new RegExp(String.raw`^${SHELL}\s+-\w*c(?:\s+[-+]\S*)*\s+`);

/** The text that a command hands to a shell; null: none. */
function givenIn(command: string): { readonly text: string; readonly isAll: boolean } | null {
  const start = GIVEN.exec(command)?.[0].length;
  if (start !== undefined) return { text: quotedAt(command, start), isAll: true };
  const first = wordAt(command, 0);
  if (first === null) return null;
  const name = nameOf(first.word);
  const text = handedBy(name, command, first.next);
  return text === null ? null : { text, isAll: name === 'eval' };
}

/** A word without its quotes. Between two quotes, what is escaped stays as it is. */
function quotedAt(command: string, start: number): string {
  const quote = command.charAt(start);
  if (quote !== '"' && quote !== "'") return bare(wordAt(command, start)?.word ?? '');
  for (let at = start + 1; at < command.length; at++) {
    if (command.charAt(at) === '\\' && quote === '"') at++;
    else if (command.charAt(at) === quote) return command.slice(start + 1, at);
  }
  return '';
}

/** The commands in a text, and one more than `COMMANDS_MOST` at most. Text in quotes is not read, but for that of `sh -c`. */
export function commandsIn(text: string): readonly string[] {
  const commands: string[] = [];
  const texts = [text];
  // A text that was read stays: shells within shells count, too.
  for (let at = 0; at < texts.length; at++) {
    if (at > COMMANDS_MOST) return Array.from({ length: COMMANDS_MOST + 1 }, () => '');
    for (const piece of new Pieces(texts[at] ?? '').read()) {
      if (piece.isBody) texts.push(piece.text);
      else readCommands(piece.text, commands, texts);
      if (commands.length > COMMANDS_MOST) return commands;
    }
  }
  return commands;
}

/** Adds the commands of a piece to those that were found, and the texts that they give to shells to those that are left to read. */
function readCommands(piece: string, commands: string[], texts: string[]): void {
  for (const command of formsOf(piece)) {
    const given = givenIn(command);
    if (given !== null) texts.push(given.text);
    if (given?.isAll !== true) commands.push(command.slice(0, COMMAND_READ).trim().split(/\s+/).join(' '));
  }
}
