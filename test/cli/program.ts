import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { SETTINGS } from '../../src/config.js';

const PROGRAM = join(import.meta.dirname, '../../dist/lib/main.js');

export interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

type Env = { readonly [name: string]: string | undefined };

/** The environment without any setting of the machine that tests run on. */
export const clean = (env: Env): NodeJS.ProcessEnv => ({
  ...process.env,
  ...Object.fromEntries(SETTINGS.map(({ name }) => [name, undefined])),
  HOLDFAST_LOG_LEVEL: 'warn',
  ...env,
});

/** The built program as a process of its own. */
export class Program {
  readonly child: ChildProcess;
  readonly ended: Promise<Ended>;
  stdout = '';
  stderr = '';

  constructor(
    args: readonly string[],
    options: { readonly cwd: string; readonly env?: Env; readonly stdin?: string | Buffer },
  ) {
    const stdio = ['pipe', 'pipe', 'pipe'] as const;
    const child = spawn(process.execPath, [PROGRAM, ...args], {
      cwd: options.cwd,
      env: clean(options.env ?? {}),
      stdio: [...stdio],
    });
    this.child = child;
    child.stdin?.end(options.stdin ?? '');
    child.stdout?.setEncoding('utf8').on('data', (text: string) => {
      this.stdout += text;
    });
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      this.stderr += text;
    });
    this.ended = once(child, 'close').then(([code]: unknown[]) => ({
      code: typeof code === 'number' ? code : null,
      stdout: this.stdout,
      stderr: this.stderr,
    }));
  }

  /** Resolves when what it printed matches; throws when it ends before. */
  async printed(pattern: RegExp): Promise<RegExpExecArray> {
    for (;;) {
      const match = pattern.exec(this.stdout);
      if (match !== null) return match;
      if (this.child.exitCode !== null || this.child.signalCode !== null) {
        throw new Error(`The program ended with ${this.child.exitCode}:\n${this.stdout}\n${this.stderr}`);
      }
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }
}
