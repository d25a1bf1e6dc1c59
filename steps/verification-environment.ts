import type { ToolEnvironment } from '../src/core/tool-environment.js';
import {
  assertHere,
  type Beginning,
  type EnvironmentOwner,
  type EnvironmentWorld,
  keptOf,
  type Opened,
  openEnvironment,
} from './open-environment.js';
import { toolEnvironment } from './run-environment.js';

/** Judges see no secrets: what is judged is code of an agent. */
const NO_SECRETS = async (): Promise<ReadonlyMap<string, string>> => new Map();

/** What programs read from their home directory is not the agent's, whose home is the workspace. In memory. */
const HOME = '/tmp';

/** As a tool has it, and whoever judges can end what works in it: with what is in memory, and without the files of the workspace. */
export interface JudgedEnvironment extends ToolEnvironment {
  readonly end: () => Promise<void>;
}

/**
 * Where a run is judged: a container of its own, which begins with the files of the run's container as they are when it is first asked for;
 * that container is stopped for it. However often it is asked for it is the same one, and it goes with its run. A run that never used its
 * container is judged in an empty one. `callKey` is as for a call: under it, the n-th command is run once.
 */
export function environmentForVerification(
  world: EnvironmentWorld,
  owner: EnvironmentOwner,
  callKey: string,
  signal: AbortSignal,
): JudgedEnvironment {
  const begin = async (engine: string): Promise<Beginning> => {
    const run = await keptOf(world, owner, 'run');
    const of = run?.identity.spec ?? owner.spec;
    const spec = { ...of, env: { HOME, ...of.env }, secrets: [] };
    if (run === null || !run.begun) return { spec, source: null };
    assertHere(run, engine);
    return { spec, source: run.identity };
  };
  const judged = { ...owner, secrets: NO_SECRETS };
  const open = (): Promise<Opened> => openEnvironment(world, judged, 'verification', begin, signal);
  return {
    ...toolEnvironment(open, { callKey, workdir: owner.spec.workdir, signal, onUnknown: 'ask' }),
    end: async () => (await open()).environment.end(signal),
  };
}
