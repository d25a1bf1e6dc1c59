import { createInterface } from 'node:readline';
import { printPiece } from './print.js';

/** Lines that a person writes, one for each question. */
export class Dialog {
  readonly #lines: string[] = [];
  readonly #reader;
  #waiting: ((line: string | null) => void) | null = null;
  #isOver = false;

  constructor(input: NodeJS.ReadableStream) {
    // The terminal edits the line itself: a program that is started in between finds it as it was.
    this.#reader = createInterface({ input, terminal: false });
    this.#reader.on('line', (line) => this.#give(line));
    this.#reader.on('close', () => {
      this.#isOver = true;
      if (this.#waiting !== null) this.#give(null);
    });
  }

  /** The next line; null: there are no more. */
  ask(question: string): Promise<string | null> {
    printPiece(question);
    const line = this.#lines.shift();
    if (line !== undefined) return Promise.resolve(line);
    if (this.#isOver) return Promise.resolve(null);
    return new Promise((resolve) => {
      this.#waiting = resolve;
    });
  }

  /** What was not asked for is forgotten. */
  close(): void {
    this.#reader.close();
  }

  #give(line: string | null): void {
    const waiting = this.#waiting;
    this.#waiting = null;
    if (waiting !== null) waiting(line);
    else if (line !== null) this.#lines.push(line);
  }
}
