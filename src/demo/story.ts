import { isatty } from 'node:tty';

const COLUMNS = 80;
const LABEL = 9;
const INDENT = 8 + LABEL + 1;
/** What is told in one line has at most this many characters. */
export const LINE_CHARACTERS = COLUMNS - INDENT;

export type Mood = 'plain' | 'bad' | 'good' | 'quiet';
const CODES: Record<Mood, number> = { plain: 0, bad: 31, good: 32, quiet: 2 };

/** Tells what happens, in short lines with the seconds since the start. */
export class Story {
  readonly #startedAt = performance.now();

  tell(label: string, text: string, mood: Mood = 'plain'): void {
    const seconds = ((performance.now() - this.#startedAt) / 1000).toFixed(1).padStart(5);
    const [first = '', ...rest] = wrap(text, LINE_CHARACTERS);
    const lines = [
      `${seconds} s ${label.padEnd(LABEL)} ${first}`,
      ...rest.map((line) => `${' '.repeat(INDENT)}${line}`),
    ];
    for (const line of lines) this.line(line, mood);
  }

  line(text = '', mood: Mood = 'plain'): void {
    process.stdout.write(`${mood !== 'plain' && coloured() ? `\u001b[${CODES[mood]}m${text}\u001b[0m` : text}\n`);
  }

  heading(text: string): void {
    this.line();
    this.line(text);
    this.line('-'.repeat(Math.min(COLUMNS, text.length)));
  }

  /** Each line as far as it fits. */
  block(text: string): void {
    for (const line of text.trimEnd().split('\n'))
      this.line(line.length > COLUMNS ? `${line.slice(0, COLUMNS - 1)}…` : line);
  }

  paragraph(text: string, indent = ''): void {
    const [first = '', ...rest] = wrap(text, COLUMNS - indent.length - 2);
    for (const line of [first, ...rest.map((one) => `  ${one}`)]) this.line(`${indent}${line}`);
  }
}

const coloured = (): boolean => isatty(1) && process.stdout.hasColors();

/** Breaks a text at spaces; a word that is longer than a line keeps its length. */
function wrap(text: string, columns: number): string[] {
  const lines: string[] = [];
  for (const word of text.split(/\s+/)) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + 1 + word.length <= columns) lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(word);
  }
  return lines;
}

export const seconds = (ms: number): string => `${(ms / 1000).toFixed(1)} s`;
