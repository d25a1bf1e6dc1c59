import { type ChildProcess, spawn } from 'node:child_process';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Job } from './side.js';

/** A process of a measurement, whose lines are read one after the other. */
export interface Started {
  /** When it was started, in milliseconds of `performance.now`. */
  readonly at: number;
  /** The next line that it prints. Throws when it ends without one. */
  line(): Promise<unknown>;
  /** Resolves when it is gone. */
  readonly gone: Promise<void>;
  signal(signal: NodeJS.Signals): void;
  kill(): Promise<void>;
}

const running = new Set<ChildProcess>();
export const killAll = (): void => {
  for (const child of running) child.kill('SIGKILL');
};

export const CHILD = join(import.meta.dirname, 'child.js');

export const startJob = (job: Partial<Job> & Pick<Job, 'side' | 'place' | 'work'>): Started =>
  startProcess([
    '--expose-gc',
    CHILD,
    JSON.stringify({ workerId: 'bench', concurrency: 100, modelMs: 0, effect: 'pure', ...job } satisfies Job),
  ]);

export function startProcess(args: readonly string[], env: NodeJS.ProcessEnv = {}): Started {
  const { DATABASE_URL: _url, HOLDFAST_DATA_DIR: _dir, ...inherited } = process.env;
  const at = performance.now();
  const child = spawn(process.execPath, [...args], {
    env: { ...inherited, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  running.add(child);
  let stderr = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr = (stderr + text).slice(-4000);
  });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const gone = new Promise<void>((resolve) =>
    child.once('close', () => {
      running.delete(child);
      resolve();
    }),
  );
  return {
    at,
    line: async () => {
      const { value, done } = await lines.next();
      if (done === true) throw new Error(`a measured process ended early: ${stderr}`);
      return parsed(value);
    },
    gone,
    signal: (signal) => void child.kill(signal),
    kill: async () => {
      child.kill('SIGKILL');
      await gone;
    },
  };
}

const parsed = (line: string): unknown => {
  try {
    return JSON.parse(line);
  } catch {
    return line;
  }
};

/** Lets a process do a job that ends, and answers what it measured. */
export async function measured<T>(job: Parameters<typeof startJob>[0]): Promise<T> {
  const started = startJob(job);
  await started.line();
  const value = await started.line();
  await started.gone;
  // As `child.ts` prints it for the work of this job.
  return value as T;
}
