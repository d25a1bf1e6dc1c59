import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { environmentVariable } from '../config.js';
import { HoldfastError } from '../core/errors/errors.js';
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

/**
 * Gives a text to the editor of the person, in a file that only they can read and that is removed after. Throws `invalid_request`
 * when the editor fails.
 */
export function edited(text: string, name: string): string {
  const editor = environmentVariable('VISUAL') ?? environmentVariable('EDITOR') ?? 'vi';
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-edit-'));
  const file = join(folder, name);
  try {
    writeFileSync(file, text, { mode: 0o600 });
    // A shell: the variable may have arguments, as in "code --wait".
    const { status, signal } = spawnSync('sh', ['-c', `${editor} "$1"`, 'sh', file], { stdio: 'inherit' });
    if (status === 0) return readFileSync(file, 'utf8');
    throw new HoldfastError(
      'invalid_request',
      `The editor \`${editor}\` ended with ${signal ?? `the exit code ${status}`}.`,
      {
        hint: 'Set EDITOR or VISUAL to an editor that waits until the file is closed, such as `nano` or `code --wait`.',
      },
    );
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
