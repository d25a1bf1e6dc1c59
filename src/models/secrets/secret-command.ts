import { execFile } from 'node:child_process';

const TIMEOUT_MS = 10_000;
const MAX_BYTES = 64 * 1024;

/** What a program prints. Throws an error that says how it ended; what it printed is not repeated, as it may hold the secret. */
export function readCommand(
  [program = '', ...args]: readonly string[],
  env: { readonly [name: string]: string },
): Promise<string> {
  return new Promise((resolve, reject) => {
    const options = {
      env,
      timeout: TIMEOUT_MS,
      maxBuffer: MAX_BYTES,
      killSignal: 'SIGKILL',
      windowsHide: true,
    } as const;
    const child = execFile(program, args, options, (error, stdout) => {
      if (error === null) resolve(stdout.trim());
      else reject(new Error(whyOf(error)));
    });
    // A program that asks for a password gets none.
    child.stdin?.on('error', () => undefined);
    child.stdin?.end();
  });
}

function whyOf({ code, killed, signal }: { code?: unknown; killed?: boolean; signal?: unknown }): string {
  if (code === 'ERR_CHILD_PROCESS_STDIO_MAXBUFFER') return 'it printed more than 64 KiB';
  if (killed === true) return `it did not end within ${TIMEOUT_MS / 1000} seconds`;
  if (typeof code === 'number') return `it ended with exit code ${code}`;
  return typeof code === 'string' ? `it cannot be started (${code})` : `it was ended by ${String(signal)}`;
}
