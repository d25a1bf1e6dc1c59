import type { CliServices } from '../../src/cli/cli-services.js';
import { runCommandLine } from '../../src/cli/command-line.js';
import type { Ended } from './program.js';

const shut = (): never => {
  throw new Error('these commands go through no door');
};
/** The doors of commands that go through none. */
export const SHUT_DOORS: CliServices = {
  openHttp: shut,
  isLoopback: shut,
  keptToken: shut,
  madeToken: shut,
  runDemo: shut,
  ownModules: shut,
};

/** A command line in this process, which is a hundred times faster than a process of its own. One at a time. */
export async function runHere(args: readonly string[], env: Readonly<Record<string, string>>): Promise<Ended> {
  const { stdout, stderr, exitCode } = process;
  const outer = { env: { ...process.env }, out: stdout.write, err: stderr.write };
  const said = { stdout: '', stderr: '' };
  const collect =
    (stream: keyof typeof said) =>
    (text: unknown): boolean => {
      said[stream] += String(text);
      return true;
    };
  Object.assign(process.env, env);
  stdout.write = collect('stdout');
  stderr.write = collect('stderr');
  process.exitCode = 0;
  try {
    await runCommandLine(args, SHUT_DOORS);
    return { code: Number(process.exitCode), ...said };
  } finally {
    stdout.write = outer.out;
    stderr.write = outer.err;
    process.exitCode = exitCode;
    for (const name of Object.keys(env)) delete process.env[name];
    Object.assign(process.env, outer.env);
  }
}
