import type { FoundEntry, JudgedPlace } from '../../src/core/containers/environment.js';
import type { CommandOptions, EndedCommand, ToolEnvironment } from '../../src/core/tools/tool-environment.js';
import {
  assertHere,
  type Beginning,
  type EnvironmentContext,
  type EnvironmentOwner,
  keptOf,
  type Opened,
  openEnvironment,
} from '../containers/open-environment.js';
import { commandsIn } from '../containers/run-environment.js';

/** Judges see no secrets: what is judged is code of an agent. */
const NO_SECRETS = async (): Promise<ReadonlyMap<string, string>> => new Map();

/** What programs read from their home directory is not the agent's, whose home is the workspace. In memory. */
const HOME = '/tmp';

/** As a tool has it. Its commands are the user's of the tests. */
export interface JudgedEnvironment extends ToolEnvironment {
  /** Runs a command after its files are there; null: it was not run, since something stands in their place. */
  readonly judge: (
    argv: readonly string[],
    options: CommandOptions,
    place: JudgedPlace,
  ) => Promise<EndedCommand | null>;
  /** Everything of the workspace. Throws `file_unreadable`. */
  readonly entries: (within: AbortSignal) => AsyncIterable<FoundEntry>;
  /** Reads a file that the user of the tests has written. Throws `file_unreadable`. */
  readonly readOwn: ToolEnvironment['read'];
}

const NO_FILES: JudgedPlace = { remove: [], make: [], files: [] };

/**
 * Where a run is judged: a container of its own, which begins with the files of the run's container as they are when it is first asked for;
 * that container is stopped for it. However often it is asked for it is the same one, and it goes with its run. A run that never used its
 * container is judged in an empty one. `callKey` is as for a call: under it, the n-th command is run once.
 */
export function environmentForVerification(
  ctx: EnvironmentContext,
  owner: EnvironmentOwner,
  callKey: string,
  signal: AbortSignal,
): JudgedEnvironment {
  const begin = async (engine: string): Promise<Beginning> => {
    const run = await keptOf(ctx, owner, 'run');
    const of = run?.identity.spec ?? owner.spec;
    const spec = { ...of, env: { HOME, ...of.env }, secrets: [] };
    if (run === null || !run.begun) return { spec, source: null };
    assertHere(run, engine);
    return { spec, source: run.identity };
  };
  const judged = { ...owner, secrets: NO_SECRETS };
  const open = (): Promise<Opened> => openEnvironment(ctx, judged, 'verification', begin, signal);
  const { open: opened, ask } = commandsIn(open, { callKey, onUnknown: 'ask' });
  const judge: JudgedEnvironment['judge'] = async (argv, options, place) => {
    const found = await ask(argv, options, ({ environment }, command) => environment.judge(command, place, signal));
    return 'type' in found ? null : found;
  };
  return {
    workdir: owner.spec.workdir,
    judge,
    run: async (argv, options = {}) => {
      const found = await judge(argv, options, NO_FILES);
      if (found === null) throw new Error('nothing can stand in the place of no files');
      return found;
    },
    read: async (path, maxBytes) => (await opened()).environment.read(path, maxBytes, signal),
    entries: async function* (within) {
      yield* (await opened()).environment.entries(AbortSignal.any([signal, within]));
    },
    readOwn: async (path, maxBytes) => (await opened()).environment.readOwn(path, maxBytes, signal),
    write: async (path, bytes) => (await opened()).environment.write(path, bytes, signal),
  };
}
