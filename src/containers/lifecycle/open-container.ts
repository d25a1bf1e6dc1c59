import { setTimeout as sleep } from 'node:timers/promises';
import type Docker from 'dockerode';
import { type EnvironmentIdentity, environmentName, type OpenOptions } from '../../core/containers/environment.js';
import { HoldfastError } from '../../core/errors/errors.js';
import { LABELS } from '../docker/container-options.js';
import { isHeld, isOvertaken, statusOf } from '../docker/engine-answers.js';
import { type EngineConnection, EngineRefusal, isRefusal } from '../docker/engine-connection.js';
import { inspect } from '../docker/inspect.js';
import { type ImageOptions, readyImage } from '../docker/ready-image.js';
import type { Shared } from '../egress/egress.js';
import { createContainer, makeContainer } from './make-container.js';
import { ownVolumes } from './own-volumes.js';
import { removeContainer } from './stop-container.js';

/** How often a container may be found in a state that leads nowhere before it is given up. */
const ROUNDS = 10;
const PAUSE_MS = 100;

/** `egress`: what its programs reach a proxy of this process by; null: nothing. */
export type ReadyOptions = OpenOptions & ImageOptions & { readonly egress: Shared | null };

/**
 * Makes a container and its volumes if no one has, and starts it if it does not run. The one that does the same at the same time ends
 * at the same container: its name decides. Returns its id and when it was started.
 */
export async function openContainer(
  engine: EngineConnection,
  identity: EnvironmentIdentity,
  options: ReadyOptions,
): Promise<Opened> {
  const beside: Promise<void>[] = [];
  try {
    return await open(engine, identity, options, beside);
  } finally {
    // Where it failed, the one that looks from inside does it again.
    await Promise.allSettled(beside);
  }
}

interface Opened {
  readonly id: string;
  readonly startedAt: string;
}

/** `beside`: what is done to a new container while it is started. */
async function open(
  engine: EngineConnection,
  identity: EnvironmentIdentity,
  options: ReadyOptions,
  beside: Promise<void>[],
): Promise<Opened> {
  let { begun } = options;
  let last: State | null = null;
  let why = '';
  for (let round = 0; round < ROUNDS; round++) {
    const found = await inspect(engine, environmentName(identity), options.signal);
    if (found === null) {
      if (await takePlace(engine, identity, options.signal)) continue;
      if (begun) throw lost(identity);
      const made = await makeOnImage(engine, identity, options);
      beside.push(ownVolumes(engine, identity, options.signal));
      if (made === null) continue;
      await options.starting();
      begun = true;
      await take(engine, made, 'start', options.signal);
      continue;
    }
    assertOurs(identity, found);
    last = found.State;
    const next = stepFor(last);
    if (next === 'run') return { id: found.Id, startedAt: found.State.StartedAt };
    if (next === 'fail' || (next === 'remake' && !isRemade(identity, found.State))) throw failed(identity, found.State);
    if (next === 'remake') {
      await remakeContainer(engine, identity, found.Id, options.egress, options.signal);
      continue;
    }
    if (next === 'start' && !begun) await options.starting();
    begun = true;
    why = (await take(engine, found.Id, next, options.signal)) ?? why;
  }
  throw stuck(identity, last, why);
}

/** Makes a container. An image that was removed since it was looked for, by a person or for space, is pulled once more. */
async function makeOnImage(
  engine: EngineConnection,
  identity: EnvironmentIdentity,
  options: ReadyOptions,
): Promise<string | null> {
  for (let isLast = options.images.pull === 'never'; ; isLast = true) {
    await readyImage(engine, identity, options);
    try {
      return await makeContainer(engine, identity, options.egress, options.signal);
    } catch (error) {
      if (isLast || !isImageGone(error)) throw error;
    }
  }
}

const isImageGone = (error: unknown): boolean => error instanceof HoldfastError && error.code === 'image_unknown';

/** What is to be said of a container that does not stay up. */
const mainEnded = ({ ExitCode }: Pick<State, 'ExitCode'>): string =>
  `its main process (\`command\` of the environment) ended with ${ExitCode}`;

/** A refusal that says by what the main process of a container has ended; null: it has not. */
export async function endOfMain(
  engine: EngineConnection,
  container: string,
  signal: AbortSignal,
): Promise<EngineRefusal | null> {
  const found = await inspect(engine, container, signal);
  return found !== null && statusOf(found.State) === 'exited' ? new EngineRefusal(0, mainEnded(found.State)) : null;
}

/** Makes a container with its files if no one has, and does not start it. */
export async function keepContainer(
  engine: EngineConnection,
  identity: EnvironmentIdentity,
  signal: AbortSignal,
): Promise<void> {
  const found = await inspect(engine, environmentName(identity), signal);
  if (found === null) await makeContainer(engine, identity, null, signal);
  else assertOurs(identity, found);
}

type State = Docker.ContainerInspectInfo['State'];
type Next = 'run' | 'start' | 'unpause' | 'wait' | 'remake' | 'fail';

/** Whether nothing is lost with a container: what it wrote outside of its volumes would be. */
const isRemade = (identity: EnvironmentIdentity, state: State): boolean =>
  identity.spec.security.readOnlyRoot || statusOf(state) === 'created';

/** What leads a container from where it is to where commands run in it. */
export function stepFor(state: Pick<State, 'Status' | 'ExitCode' | 'Error'>): Next {
  switch (statusOf(state)) {
    case 'running':
      return 'run';
    case 'created':
      // A start that failed leaves this behind, and would fail again.
      if (isHeld(state.Error)) return 'remake';
      return state.ExitCode === 0 && state.Error === '' ? 'start' : 'fail';
    case 'exited':
      // Its main process only waits, and what commands have done is on its volumes.
      if (isHeld(state.Error)) return 'remake';
      return state.Error === '' ? 'start' : 'fail';
    case 'paused':
      return 'unpause';
    case 'dead':
      return 'fail';
    default:
      return 'wait';
  }
}

/** Gives what the engine refused it with, which of Podman's its state does not say. */
async function take(
  engine: EngineConnection,
  id: string,
  step: Exclude<Next, 'run' | 'remake' | 'fail'>,
  signal: AbortSignal,
): Promise<string | null> {
  if (step === 'wait') {
    await sleep(PAUSE_MS, undefined, { signal });
    return null;
  }
  try {
    await engine.ask('starting the container', signal, async (docker) => {
      const container = docker.getContainer(id);
      await (step === 'start' ? container.start() : container.unpause());
    });
    return null;
  } catch (error) {
    // Someone else was faster (304, 409), it was removed meanwhile (404), or its state says why it cannot start.
    if (!(error instanceof EngineRefusal)) throw error;
    await sleep(PAUSE_MS, undefined, { signal });
    return isOvertaken(error) || error.status === 404 ? null : error.message.trim().toWellFormed();
  }
}

function assertOurs(identity: EnvironmentIdentity, found: Docker.ContainerInspectInfo): void {
  const labels = found.Config.Labels;
  if (labels[LABELS.spec] === identity.specHash && labels[LABELS.run] === identity.runId) return;
  const name = environmentName(identity);
  throw new HoldfastError('environment_conflict', `A container ${name} is there, and is not the one of this run.`);
}

const lost = (identity: EnvironmentIdentity): HoldfastError =>
  new HoldfastError('environment_lost', `The container ${environmentName(identity)} was there, and is gone.`);

function stuck(identity: EnvironmentIdentity, last: State | null, why: string): HoldfastError {
  const hasEnded = last !== null && statusOf(last) === 'exited';
  const said = hasEnded ? `${mainEnded(last)} each time that it was started` : why;
  const what = `The container ${environmentName(identity)} does not come to run`;
  return new HoldfastError('environment_failed', said === '' ? `${what}.` : `${what}: ${said}.`);
}

const failed = (identity: EnvironmentIdentity, state: State): HoldfastError => {
  const why = state.Error === '' ? `it ended with ${state.ExitCode}` : state.Error;
  return new HoldfastError('environment_failed', `The container ${environmentName(identity)} cannot start: ${why}.`);
};

const nextOf = (identity: EnvironmentIdentity): string => `${environmentName(identity)}-next`;

/**
 * Puts a container in the place of one that its engine cannot start any more, on the same volumes. The new one is there before the
 * old one goes, so that the one that dies in between leaves one of the two: `takePlace` finds it.
 */
async function remakeContainer(
  engine: EngineConnection,
  identity: EnvironmentIdentity,
  old: string,
  egress: Shared | null,
  signal: AbortSignal,
): Promise<void> {
  await createContainer(engine, identity, egress, signal, nextOf(identity));
  await removeContainer(engine, old, signal);
  await takePlace(engine, identity, signal);
}

/** Gives what was made in place of another one its name. False: there is none. */
async function takePlace(
  engine: EngineConnection,
  identity: EnvironmentIdentity,
  signal: AbortSignal,
): Promise<boolean> {
  const next = nextOf(identity);
  try {
    await engine.ask('naming a container', signal, (docker) =>
      docker.getContainer(next).rename({ name: environmentName(identity) }),
    );
    return true;
  } catch (error) {
    if (isRefusal(error, 404)) return false;
    // Someone else was faster, and this one came too late.
    if (!isRefusal(error, 409)) throw error;
    await removeContainer(engine, next, signal);
    return true;
  }
}
