import { spawn } from 'node:child_process';
import { join, resolve } from 'node:path';
import type { KillAt } from './place.js';
import { childReport, type RunReport } from './report.js';

const PROGRAMS = join(import.meta.dirname, '../../dist/programs/test/crash');

export interface ChildEnd {
  /** SIGKILL when it died where it was told to. */
  readonly signal: NodeJS.Signals | null;
  readonly code: number | null;
  /** How the runs ended; none when it died. */
  readonly runs: readonly RunReport[];
  readonly stderr: string;
}

/** Starts one process of a crash test, maybe of another build; it prints reports. */
export function startChild(
  env: Readonly<Record<string, string>>,
  killAt?: KillAt,
  program = 'child.js',
): { readonly pid: number; readonly ended: Promise<ChildEnd> } {
  const { DATABASE_URL: _url, HOLDFAST_DATA_DIR: _dir, ...inherited } = process.env;
  const child = spawn(process.execPath, [resolve(PROGRAMS, program)], {
    env: { ...inherited, ...env, ...(killAt === undefined ? {} : { KILL_AT: JSON.stringify(killAt) }) },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const ended = new Promise<ChildEnd>((resolve, reject) => {
    let stdout = '';
    let stderr = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      stdout += text;
    });
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      stderr += text;
    });
    child.once('error', reject);
    child.once('close', (code, signal) => {
      const runs = stdout === '' ? [] : childReport.parse(JSON.parse(stdout));
      resolve({ code, signal, runs, stderr });
    });
  });
  return { pid: child.pid ?? 0, ended };
}
