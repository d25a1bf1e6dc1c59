import type { CommandOutcome, FoundFile } from '../containers/environment.js';
import { HoldfastError } from '../errors/errors.js';

export interface CommandOptions {
  /** Where it begins; the workspace without one. */
  readonly cwd?: string;
  /** Default 120; at most 3600. Then the command is ended with everything that it has started. */
  readonly timeoutSeconds?: number;
  /** Kept of each stream. Default 32,768; at most 4 MiB. */
  readonly maxOutputBytes?: number;
}

export type EndedCommand = Omit<Extract<CommandOutcome, { type: 'ended' }>, 'type'>;

/** The container of a run, as a tool has it. What fails with the container itself ends the run, and is never told to a model. */
export interface ToolEnvironment {
  /** Where commands begin. Throws `environment_missing` where the agent has no environment. */
  readonly workdir: string;
  /**
   * Runs a command once: a call that is executed again, after a crash, gets the outcome of the n-th command of its first
   * execution for its own n-th. An exit code is no error. A command that was begun and whose end no one recorded makes the effect of the
   * call unknown, so that a person is asked about an `unsafe` one; in a task it throws `command_unknown`, which ends the run.
   */
  readonly run: (argv: readonly string[], options?: CommandOptions) => Promise<EndedCommand>;
  /** Throws `file_unreadable`. */
  readonly read: (path: string, maxBytes: number) => Promise<FoundFile>;
  /** Writes a file whole or not at all. Throws `file_unwritable`. */
  readonly write: (path: string, bytes: Buffer) => Promise<void>;
}

/** That of an agent that has none. `who`: what should have one. */
export function noEnvironment(who: string): ToolEnvironment {
  const missing = (): HoldfastError => new HoldfastError('environment_missing', `${who} has no environment.`);
  const refuse = async (): Promise<never> => {
    throw missing();
  };
  return {
    get workdir(): string {
      throw missing();
    },
    ...{ run: refuse, read: refuse, write: refuse },
  };
}
