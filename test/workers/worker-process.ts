import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';

const PROGRAM = join(import.meta.dirname, '../../dist/programs/test/workers/worker.js');
/** What is kept of the output: hours of a worker that complains must not fill the memory of who started it. */
const SAID_CHARS = 1_000_000;

/** A worker as a process of its own. */
export class WorkerProcess {
  readonly child: ChildProcess;
  readonly ended: Promise<NodeJS.Signals | number | null>;
  /** The end of what it has said. */
  said = '';

  constructor(env: Readonly<Record<string, string>>, program: readonly string[] = [PROGRAM]) {
    const { DATABASE_URL: _url, HOLDFAST_DATA_DIR: _dir, ...inherited } = process.env;
    this.child = spawn(process.execPath, [...program], {
      env: { ...inherited, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const take = (text: string): void => {
      this.said = (this.said + text).slice(-SAID_CHARS);
    };
    this.child.stdout?.setEncoding('utf8').on('data', take);
    this.child.stderr?.setEncoding('utf8').on('data', take);
    this.ended = once(this.child, 'close').then(([code, signal]) => signal ?? code);
  }

  get isGone(): boolean {
    return this.child.exitCode !== null || this.child.signalCode !== null;
  }

  kill(signal: NodeJS.Signals): void {
    this.child.kill(signal);
  }

  /** Resolves when it has said a word; throws when it ends before. */
  async says(word: string): Promise<void> {
    for (;;) {
      if (this.said.includes(word)) return;
      if (this.isGone) throw new Error(`it ended: ${this.said}`);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }
}
