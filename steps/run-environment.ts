import { createHmac, randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { EffectUnknown } from '../src/core/call.js';
import type { AgentEnvironment, Environment } from '../src/core/environment.js';
import { specHashOf } from '../src/core/environment-spec.js';
import { HoldfastError } from '../src/core/errors.js';
import type { CommandOptions, EndedCommand, ToolEnvironment } from '../src/core/tool-environment.js';
import {
  findEnvironment,
  instanceId,
  type KeptEnvironment,
  keepEnvironment,
  markStarted,
  useEnvironment,
} from '../src/storage/environments.js';
import { patiently } from './patience.js';
import type { World } from './world.js';

/** After so long whoever finds a container, and no row of it, may remove it. */
const ORPHAN_AFTER_MS = 24 * 3_600_000;
/** For so long a container that is being stopped is waited for. */
const STOPPED_WITHIN_MS = 120_000;
const PAUSE_MS = 50;

const DEFAULT_TIMEOUT_SECONDS = 120;
const LONGEST_TIMEOUT_SECONDS = 3600;
const DEFAULT_OUTPUT_BYTES = 32_768;
const MOST_OUTPUT_BYTES = 4 * 1024 * 1024;

/** Whose environment: the run, and what its agent says of it. */
export interface EnvironmentOwner extends AgentEnvironment {
  readonly runId: string;
  readonly tenant: string;
}

/**
 * The environment of a run as one call of it has it. Nothing is made before the call wants something. `callKey` is the same at every
 * execution of the call: the n-th command of it is known by n.
 */
export function environmentOfCall(
  world: World,
  owner: EnvironmentOwner,
  callKey: string,
  signal: AbortSignal,
): ToolEnvironment {
  let opened: Promise<Opened> | null = null;
  const open = (): Promise<Opened> => {
    opened ??= openEnvironment(world, owner, signal);
    return opened;
  };
  let commands = 0;
  return {
    workdir: owner.spec.workdir,
    run: async (argv, options = {}) => {
      const name = `${callKey}:${++commands}`;
      const { environment, kept } = await open();
      const id = createHmac('sha256', kept.key).update(name).digest('hex').slice(0, 32);
      return ended(await environment.run({ id, argv, ...boundsOf(options, kept.identity.spec.workdir) }, signal));
    },
    read: async (path, maxBytes) => (await open()).environment.read(path, maxBytes, signal),
    write: async (path, bytes) => (await open()).environment.write(path, bytes, signal),
  };
}

const boundsOf = (options: CommandOptions, workdir: string) => ({
  cwd: options.cwd ?? workdir,
  timeoutSeconds: Math.min(
    Math.max(1, Math.ceil(options.timeoutSeconds ?? DEFAULT_TIMEOUT_SECONDS)),
    LONGEST_TIMEOUT_SECONDS,
  ),
  maxOutputBytes: Math.min(Math.max(1, Math.ceil(options.maxOutputBytes ?? DEFAULT_OUTPUT_BYTES)), MOST_OUTPUT_BYTES),
});

function ended(outcome: Awaited<ReturnType<Environment['run']>>): EndedCommand {
  if (outcome.type === 'unknown') throw new EffectUnknown({ why: 'stopped' });
  const { type: _ended, ...command } = outcome;
  return command;
}

interface Opened {
  readonly kept: KeptEnvironment;
  readonly environment: Environment;
}

/** Opens the container of a run: keeps it first, then takes it into use, then makes sure that it runs. */
async function openEnvironment(world: World, owner: EnvironmentOwner, signal: AbortSignal): Promise<Opened> {
  const engine = world.environments;
  if (engine === null) {
    throw new HoldfastError('engine_unreachable', 'This worker knows no container engine.', {
      hint: 'Set DOCKER_HOST, then try the run again.',
    });
  }
  const { knex } = world;
  const id = await engine.id(signal);
  const kept = await patiently(() => keptOf(world, owner, id));
  const { identity } = kept;
  if (kept.engine !== id)
    throw new HoldfastError(
      'environment_elsewhere',
      `The container of ${owner.runId} is on the engine ${kept.engine}.`,
    );
  await inUse(world, kept, signal);
  const environment = await engine.open(identity, {
    begun: kept.begun,
    starting: () => patiently(() => markStarted(knex, identity)),
    secrets: owner.secrets,
    signal,
  });
  return { kept, environment };
}

/** What is kept stands: a run goes on with the spec that it began with. */
async function keptOf(world: World, owner: EnvironmentOwner, engine: string): Promise<KeptEnvironment> {
  const { knex } = world;
  const { runId, tenant, spec } = owner;
  const instance = await instanceId(knex);
  const before = await findEnvironment(knex, instance, runId);
  if (before !== null) return before;
  const deadline = new Date(world.now() + ORPHAN_AFTER_MS).toISOString();
  const identity = { instance, runId, attempt: 1, spec, specHash: specHashOf(spec), deadline };
  await keepEnvironment(knex, { identity, engine, key: randomBytes(16).toString('hex') }, tenant);
  const now = await findEnvironment(knex, instance, runId);
  if (now === null) throw new Error('a row that was inserted is there');
  return now;
}

async function inUse(world: World, { identity }: KeptEnvironment, signal: AbortSignal): Promise<void> {
  const until = performance.now() + STOPPED_WITHIN_MS;
  while (!(await patiently(() => useEnvironment(world.knex, identity)))) {
    if (performance.now() > until)
      throw new HoldfastError('environment_lost', `The container of ${identity.runId} is being removed, or was.`);
    await sleep(PAUSE_MS, undefined, { signal });
  }
}
