import { createHmac } from 'node:crypto';
import type { Command, JudgedOutcome } from '../../src/core/containers/environment.js';
import { HoldfastError } from '../../src/core/errors/errors.js';
import { EffectUnknown } from '../../src/core/runs/call.js';
import type { CommandOptions, EndedCommand, ToolEnvironment } from '../../src/core/tools/tool-environment.js';
import { type EnvironmentContext, type EnvironmentOwner, type Opened, openEnvironment } from './open-environment.js';

const DEFAULT_TIMEOUT_SECONDS = 120;
const LONGEST_TIMEOUT_SECONDS = 3600;
const DEFAULT_OUTPUT_BYTES = 32_768;
const MOST_OUTPUT_BYTES = 4 * 1024 * 1024;

/**
 * The environment of a run as one call of it has it. Nothing is made before the call wants something. `callKey` is the same at every
 * execution of the call: the n-th command of it is known by n.
 */
export const environmentOfCall = (
  ctx: EnvironmentContext,
  owner: EnvironmentOwner,
  callKey: string,
  signal: AbortSignal,
): ToolEnvironment =>
  toolEnvironment(() => openEnvironment(ctx, owner, 'run', async () => ({ spec: owner.spec, source: null }), signal), {
    callKey,
    workdir: owner.spec.workdir,
    signal,
    onUnknown: owner.onUnknown ?? 'ask',
  });

interface Use {
  readonly callKey: string;
  readonly workdir: string;
  readonly signal: AbortSignal;
  readonly onUnknown: 'ask' | 'restart';
}

/** What is opened once, when it is first wanted, as who works in it has it. */
export function toolEnvironment(openIt: () => Promise<Opened>, use: Use): ToolEnvironment {
  const { signal } = use;
  const { open, ask } = commandsIn(openIt, use);
  return {
    workdir: use.workdir,
    run: (argv, options = {}) => ask(argv, options, ({ environment }, command) => environment.run(command, signal)),
    read: async (path, maxBytes) => (await open()).environment.read(path, maxBytes, signal),
    write: async (path, bytes) => (await open()).environment.write(path, bytes, signal),
  };
}

/** The commands of one call: the n-th is known by n, at every execution of the call. */
export function commandsIn(openIt: () => Promise<Opened>, { callKey, onUnknown }: Omit<Use, 'workdir' | 'signal'>) {
  let opened: Promise<Opened> | null = null;
  const open = (): Promise<Opened> => {
    opened ??= openIt();
    return opened;
  };
  let commands = 0;
  const ask = async <T extends JudgedOutcome>(
    argv: readonly string[],
    options: CommandOptions,
    execute: (opened: Opened, command: Command) => Promise<T>,
  ): Promise<EndedCommand | Extract<T, { type: 'blocked' }>> => {
    assertArguments(argv);
    const name = `${callKey}:${++commands}`;
    const opened = await open();
    const { kept } = opened;
    const id = createHmac('sha256', kept.key).update(name).digest('hex').slice(0, 32);
    const outcome: JudgedOutcome = await execute(opened, {
      id,
      argv,
      ...boundsOf(options, kept.identity.spec.workdir),
    });
    if (outcome.type === 'unknown') throw onUnknown === 'ask' ? new EffectUnknown({ why: 'stopped' }) : unknown(argv);
    if (outcome.type !== 'ended') return outcome as Extract<T, { type: 'blocked' }>;
    const { type: _ended, ...command } = outcome;
    return command;
  };
  return { open, ask };
}

const boundsOf = (options: CommandOptions, workdir: string) => ({
  cwd: options.cwd ?? workdir,
  timeoutSeconds: Math.min(
    Math.max(1, Math.ceil(options.timeoutSeconds ?? DEFAULT_TIMEOUT_SECONDS)),
    LONGEST_TIMEOUT_SECONDS,
  ),
  maxOutputBytes: Math.min(Math.max(1, Math.ceil(options.maxOutputBytes ?? DEFAULT_OUTPUT_BYTES)), MOST_OUTPUT_BYTES),
});

/** Of one argument, as Linux takes it. */
const ARGUMENT_BYTES = 131_071;

/** The kernel starts no program with other ones. */
function assertArguments(argv: readonly string[]): void {
  for (const [index, one] of argv.entries()) {
    const bytes = Buffer.byteLength(one);
    if (bytes > ARGUMENT_BYTES)
      throw new Error(
        `Argument ${index} of the command has ${bytes} bytes, and at most ${ARGUMENT_BYTES} are possible: write a file and run that.`,
      );
    if (one.includes('\0')) throw new Error(`Argument ${index} of the command holds NUL, which no argument can.`);
  }
}

const SHOWN_CHARACTERS = 200;

const unknown = (argv: readonly string[]): HoldfastError => {
  const shown = argv.at(-1)?.slice(0, SHOWN_CHARACTERS).toWellFormed() ?? '';
  return new HoldfastError('command_unknown', `The container stopped under ${JSON.stringify(shown)}.`);
};
