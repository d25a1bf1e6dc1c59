import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { z } from 'zod';
import type { KillAt } from './kill-switch.js';

const PROGRAMS = join(import.meta.dirname, '../../dist/test/crash');

export const childReport = z.object({
  status: z.string(),
  output: z.unknown(),
  error: z.unknown(),
  turns: z.number(),
  usage: z.unknown(),
  ok: z.boolean(),
  complete: z.boolean(),
  events: z.array(z.object({ seq: z.number(), kind: z.string(), dataHash: z.string(), stateHashAfter: z.string() })),
});
export type ChildReport = z.infer<typeof childReport>;

export interface ChildEnd {
  /** SIGKILL when it died where it was told to. */
  readonly signal: NodeJS.Signals | null;
  readonly code: number | null;
  readonly report: ChildReport | null;
  readonly stderr: string;
}

/** Runs one process of a crash test to its end. */
export const runChild = (env: Readonly<Record<string, string>>, killAt?: KillAt): Promise<ChildEnd> =>
  startChild(env, killAt).ended;

/** Starts one process of a crash test; `program` prints a report. */
export function startChild(
  env: Readonly<Record<string, string>>,
  killAt?: KillAt,
  program = 'child.js',
): { readonly pid: number; readonly ended: Promise<ChildEnd> } {
  const { DATABASE_URL: _url, HOLDFAST_DATA_DIR: _dir, ...inherited } = process.env;
  const child = spawn(process.execPath, [join(PROGRAMS, program)], {
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
      const report = stdout === '' ? null : childReport.parse(JSON.parse(stdout));
      resolve({ code, signal, report, stderr });
    });
  });
  return { pid: child.pid ?? 0, ended };
}
