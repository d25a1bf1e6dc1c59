import { execFile } from 'node:child_process';
import { constants, existsSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { resolve } from 'node:path';
import type { FieldError } from '../../core/errors/errors.js';
import { isSecret, type Secret } from '../../core/secrets/secret-place.js';

const TIMEOUT_MS = 10_000;
const COMMAND_OUTPUT_BYTES_MAX = 64 * 1024;

/** What a program prints. Throws an error that says how it ended; what it printed is not repeated, as it may hold the secret. */
function readCommand(
  [program = '', ...args]: readonly string[],
  env: { readonly [name: string]: string },
): Promise<string> {
  return new Promise((resolve, reject) => {
    const options = {
      env,
      timeout: TIMEOUT_MS,
      maxBuffer: COMMAND_OUTPUT_BYTES_MAX,
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

const FILE_BYTES_MAX = 64 * 1024;

/** The content of a regular file. Throws an error that names what is wrong, without the content. */
async function readSecretFile(path: string): Promise<string> {
  let file: Awaited<ReturnType<typeof open>>;
  try {
    // A pipe without a writer would keep the opening forever.
    file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
  } catch (error) {
    throw new Error(`it cannot be read (${codeOf(error)})`);
  }
  try {
    if (!(await file.stat()).isFile()) throw new Error('it is not a file');
    const { buffer, bytesRead } = await file.read(Buffer.alloc(FILE_BYTES_MAX + 1), 0, FILE_BYTES_MAX + 1, 0);
    if (bytesRead > FILE_BYTES_MAX) throw new Error('it is larger than 64 KiB');
    return buffer.toString('utf8', 0, bytesRead).trim();
  } finally {
    await file.close();
  }
}

const codeOf = (error: unknown): string => (error instanceof Error && 'code' in error ? String(error.code) : 'unknown');

export { isSecret, type Secret };

/** The field of a configuration whose secret is not there. */
export const missingAt = (pointer: string, value: unknown): readonly FieldError[] =>
  isSecret(value) && !value.problem && value.isThere?.() === false
    ? [{ pointer, detail: `${value.place} is missing` }]
    : [];

/** What a header can carry. */
export const isKeyText = (text: string): boolean => /^[\x21-\x7e]+$/.test(text);

const hasNothing = (text: unknown): boolean => typeof text !== 'string' || text === '' || text.includes('\0');

/** A value that is in the configuration itself. */
export const literalSecret = (value: string): Secret => ({
  place: 'the configuration',
  read: async () => value,
});

/** A variable of the environment, as `variable` gives it. */
export const variableSecret = (name: string, variable: (name: string) => string | null): Secret => ({
  place: `the environment variable ${name}`,
  problem: /^[A-Za-z_]\w*$/.test(String(name)) ? null : 'expected the name of an environment variable',
  isThere: () => variable(name) !== null,
  read: async () => {
    const value = variable(name);
    if (value === null) throw new Error('it is not set');
    return value;
  },
});

/** The content of a file, without spaces and line breaks at its ends; at most 64 KiB. A relative path is one of the working directory. */
export const fileSecret = (path: string): Secret => {
  const problem = hasNothing(path) ? 'expected the path of a file' : null;
  const whole = problem === null ? resolve(path) : '';
  return {
    place: `the file ${whole}`,
    path: whole,
    problem,
    isThere: () => existsSync(whole),
    read: () => readSecretFile(whole),
  };
};

/**
 * What a program prints, without spaces and line breaks at its ends; at most 64 KiB within 10 seconds. The program is started
 * without a shell, with `environment` alone.
 */
export const commandSecret = (
  command: readonly string[],
  environment: () => { readonly [name: string]: string },
): Secret => {
  const wrong = !Array.isArray(command) || hasNothing(command[0]) || command.some((word) => hasNothing(word));
  return {
    place: `the command ${String(command[0])}`,
    problem: wrong ? 'expected a list of a program and its arguments' : null,
    read: () => readCommand(command, environment()),
  };
};
