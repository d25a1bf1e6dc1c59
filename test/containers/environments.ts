import { randomBytes } from 'node:crypto';
import { afterAll } from 'vitest';
import { DockerEngine } from '../../src/containers/docker/docker-engine.js';
import type {
  Command,
  CommandOutcome,
  Environment,
  EnvironmentIdentity,
} from '../../src/core/containers/environment.js';
import { type EnvironmentInput, environmentSpec, specHashOf } from '../../src/core/containers/environment-spec.js';
import { BUSYBOX, DOCKER_HOST } from '../harness/docker.js';

export const never: AbortSignal = new AbortController().signal;

export const newEngine = (host = DOCKER_HOST, patienceMs = 10_000): DockerEngine =>
  new DockerEngine({ host, certPath: null }, { patienceMs });

export const noSecrets = async (): Promise<ReadonlyMap<string, string>> => new Map();

/** Of this process: what it leaves is found by it. */
export const INSTANCE = `test${randomBytes(4).toString('hex')}`;

/** An environment of its own. Small, so that many fit on a small machine. */
export function newIdentity(
  input: Partial<EnvironmentInput> = {},
  runId = `run_${randomBytes(8).toString('hex')}`,
): EnvironmentIdentity {
  const { limits, ...rest } = input;
  const spec = environmentSpec.parse({
    ...{ image: BUSYBOX, limits: { memoryMb: 128, maxProcesses: 64, ...limits } },
    ...rest,
  });
  const deadline = new Date(Date.now() + 3_600_000).toISOString();
  const name = { instance: INSTANCE, runId, purpose: 'run' as const, attempt: 1 };
  return { ...name, source: null, spec, specHash: specHashOf(spec), deadline };
}

export const commandId = (): string => randomBytes(16).toString('hex');

export const command = (argv: readonly string[], changes: Partial<Command> = {}): Command => ({
  ...{ id: commandId(), argv, cwd: '/work', timeoutSeconds: 30, maxOutputBytes: 65_536 },
  ...changes,
});

export const shell = (text: string, changes: Partial<Command> = {}): Command => command(['sh', '-c', text], changes);

/** Opens environments for the tests of a suite, and removes all of them after it. */
export function openedFor(engine: DockerEngine = newEngine()) {
  const made: EnvironmentIdentity[] = [];
  const open = async (identity: EnvironmentIdentity, begun = false, lookLater = false): Promise<Environment> => {
    made.push(identity);
    return engine.open(identity, { begun, lookLater, starting: async () => {}, secrets: noSecrets, signal: never });
  };
  afterAll(async () => {
    for (const identity of made) await engine.remove(identity, never);
  });
  return {
    engine,
    open,
    /** Opens a fresh one and says what a command in it came to. */
    async run(input: Partial<EnvironmentInput>, text: string, changes: Partial<Command> = {}): Promise<Ended> {
      const environment = await open(newIdentity(input), false, true);
      return endedOf(await environment.run(shell(text, changes), never));
    },
  };
}

export type Ended = Extract<CommandOutcome, { type: 'ended' }>;

export function endedOf(outcome: CommandOutcome): Ended {
  if (outcome.type !== 'ended') throw new Error(`the command has not ended: ${outcome.type}`);
  return outcome;
}
