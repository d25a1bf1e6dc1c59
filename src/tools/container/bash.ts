import { z } from 'zod';
import type { Output } from '../../core/containers/environment.js';
import { shownPart } from '../../models/secrets/known-secrets.js';
import { type DeclaredTool, defineTool } from '../define/define-tool.js';
import { boundOf, readOptions } from '../define/tool-options.js';

const DEFAULT_TIMEOUT_SECONDS = 120;
const LONGEST_TIMEOUT_SECONDS = 3500;
const DEFAULT_OUTPUT_BYTES = 32_768;
/** A character takes up to six bytes in JSON, and there are two streams. */
const BYTES_IN_JSON = 12;
/** Above the time of the longest command: what is left is for a container that must be started again. */
const TIMEOUT_MS = 3_600_000;

/** bash where the image has it. Arguments after the command are those of the command. */
const SHELL = 'if command -v bash >/dev/null; then exec bash -c "$0" sh "$@"; else exec sh -c "$0" sh "$@"; fi';
/** Both streams are one. */
export const JOINED = `exec 2>&1; ${SHELL}`;

export interface BashToolOptions {
  /** Of a command that names no time of its own. Default 120. */
  readonly timeoutSeconds?: number;
  /** Of each stream. Default 32,768. */
  readonly maxOutputBytes?: number;
  /** Puts both streams into `stdout`, in the order in which they were written. Default false. */
  readonly joinStreams?: boolean;
}

const OPTIONS = {
  timeoutSeconds: z.number().min(1).max(LONGEST_TIMEOUT_SECONDS).default(DEFAULT_TIMEOUT_SECONDS),
  maxOutputBytes: boundOf(BYTES_IN_JSON).default(DEFAULT_OUTPUT_BYTES),
  joinStreams: z.boolean().default(false),
};

/**
 * `bash`: runs a command in the container of the run. Needs `container:exec:shell`. Each command has a shell of its own; files stay,
 * and what it leaves in the background works on until the run pauses. It runs once: after a crash its outcome is collected.
 */
export function bashTool(options: BashToolOptions = {}): DeclaredTool {
  const { timeoutSeconds, maxOutputBytes, joinStreams } = readOptions('bash', OPTIONS, options);
  const shell = joinStreams ? JOINED : SHELL;
  return defineTool({
    untrusted: 'container',
    name: 'bash',
    description:
      'Runs a command in a shell and gives its exit code and output. Each command begins in the same directory with a shell of its own: files stay, variables do not.',
    input: z.object({
      command: z.string().min(1).max(65_536).describe('For the shell.'),
      timeoutSeconds: z
        .number()
        .min(1)
        .max(LONGEST_TIMEOUT_SECONDS)
        .optional()
        .describe(`After so long it is ended, with all that it has started. ${timeoutSeconds} without it.`),
    }),
    output: z.object({
      exitCode: z.int(),
      stdout: z.string(),
      stderr: z.string(),
      note: z.string().optional(),
    }),
    capabilities: ['container:exec:shell'],
    effect: 'unsafe',
    // Running it again gets the outcome of the first execution; where no one recorded one, a person is asked.
    onUnknownEffect: 'rerun',
    timeoutMs: TIMEOUT_MS,
    maxOutputBytes: maxOutputBytes * BYTES_IN_JSON + 4096,
    execute: async ({ command, timeoutSeconds: asked }, { environment }) => {
      const seconds = asked ?? timeoutSeconds;
      const bounds = { timeoutSeconds: seconds, maxOutputBytes };
      const ended = await environment.run(['sh', '-c', shell, command], bounds);
      const notes = [
        ...(ended.timedOut ? [`It was ended after ${seconds} seconds.`] : []),
        ...(ended.outOfMemory ? ['The container ran out of memory, and a process was ended.'] : []),
        ...omitted('stdout', ended.stdout),
        ...omitted('stderr', ended.stderr),
      ];
      const { exitCode, stdout, stderr } = ended;
      return {
        ...{ exitCode, stdout: shownOutput(stdout), stderr: shownOutput(stderr) },
        ...(notes.length === 0 ? {} : { note: notes.join(' ') }),
      };
    },
  });
}

/** What a command said, without secrets, and without an end that may be the beginning of one where it was cut. */
export const shownOutput = ({ text, omittedBytes }: Output): string => shownPart(text, omittedBytes > 0);

const omitted = (name: string, { omittedBytes }: Output): readonly string[] =>
  omittedBytes === 0 ? [] : [`${omittedBytes} more bytes of ${name} are left out.`];
