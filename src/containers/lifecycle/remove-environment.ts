import { setTimeout as sleep } from 'node:timers/promises';
import {
  type EnvironmentName,
  environmentName,
  isPurpose,
  type LabelledEnvironment,
} from '../../core/containers/environment.js';
import { LABELS, rootImageOf, volumesOf } from '../docker/container-options.js';
import { type EngineConnection, isRefusal } from '../docker/engine-connection.js';

/** What still holds a volume goes within this, or it is tried another time. */
const TRIES = 5;
const APART_MS = 200;

const ENDED = new Set(['exited', 'created', 'dead']);

type Labels = { readonly [name: string]: string } | null | undefined;

/** Removes everything of an environment: its containers, then its volumes, then the image of its root. What is gone is fine. */
export async function removeEnvironment(
  engine: EngineConnection,
  name: EnvironmentName,
  signal: AbortSignal,
): Promise<void> {
  const isOf = (labels: Labels): boolean => labelled(labels)?.name === environmentName(name);
  const { containers, volumes, images } = await labelledThings(engine, `${LABELS.run}=${name.runId}`, signal);
  for (const { Id, Labels } of containers) {
    if (isOf(Labels))
      await gone(engine, 'removing a container', signal, () =>
        engine.docker.getContainer(Id).remove({ force: true, v: true }),
      );
  }
  // By their names too: a container that is made after its volumes were removed makes them again, without labels.
  const owned = volumes.filter(({ Labels }) => isOf(Labels)).map(({ Name }) => Name);
  for (const volume of new Set([...owned, ...Object.values(volumesOf(environmentName(name)))]))
    await removeVolume(engine, volume, signal);
  // By its name first: without one, an image is no one's but ours.
  await gone(engine, 'removing an image', signal, () => engine.docker.getImage(rootImageOf(name)).remove());
  for (const { Id, RepoTags, Labels } of images) {
    const isNamed = (RepoTags ?? []).some((tag) => tag !== '<none>:<none>' && tag !== rootImageOf(name));
    if (isOf(Labels) && !isNamed)
      await gone(engine, 'removing an image', signal, () => engine.docker.getImage(Id).remove());
  }
}

/** What an engine has of an instance, each environment once. */
export async function listEnvironments(
  engine: EngineConnection,
  instance: string,
  signal: AbortSignal,
): Promise<readonly LabelledEnvironment[]> {
  const things = await labelledThings(engine, `${LABELS.instance}=${instance}`, signal);
  const found = [...things.containers, ...things.volumes, ...things.images]
    .map(({ Labels }) => labelled(Labels))
    .filter((one) => one !== null)
    .filter((one) => one.instance === instance);
  return [...new Map(found.map((one) => [one.name, one])).values()];
}

/** With more than one label Podman finds volumes that have any of them, and no image: the rest is for who asks to look at. */
async function labelledThings(engine: EngineConnection, label: string, signal: AbortSignal) {
  const filters = { label: [label] };
  const containers = await engine.ask('looking for containers', signal, (docker) =>
    docker.listContainers({ all: true, filters }),
  );
  const { Volumes } = await engine.ask('looking for volumes', signal, (docker) => docker.listVolumes({ filters }));
  const images = await engine.ask('looking for images', signal, (docker) => docker.listImages({ filters }));
  return { containers, volumes: Volumes ?? [], images };
}

/** A volume that someone still mounts is not removed: of what has copied from it, and has ended, no one needs to know any more. */
async function removeVolume(engine: EngineConnection, volume: string, signal: AbortSignal): Promise<void> {
  for (let tries = 1; ; tries++) {
    try {
      return await engine.ask('removing a volume', signal, () => engine.docker.getVolume(volume).remove());
    } catch (error) {
      if (isRefusal(error, 404)) return;
      if (!isRefusal(error, 409) || tries === TRIES) throw error;
    }
    const filters = { volume: [volume], label: [`${LABELS.managed}=1`] };
    const users = await engine.ask('looking for containers', signal, (docker) =>
      docker.listContainers({ all: true, filters }),
    );
    // Not as a filter: engines know different states.
    for (const { Id } of users.filter(({ State }) => ENDED.has(State)))
      await gone(engine, 'removing a container', signal, () => engine.docker.getContainer(Id).remove({ v: true }));
    await sleep(APART_MS, undefined, { signal });
  }
}

/** Does what may have been done already: what is not there, or on its way out, is fine. */
async function gone(
  engine: EngineConnection,
  what: string,
  signal: AbortSignal,
  request: () => Promise<unknown>,
): Promise<void> {
  try {
    await engine.ask(what, signal, request);
  } catch (error) {
    if (!isRefusal(error, 404, 409)) throw error;
  }
}

/** What has no purpose was made before there were others than `run`. */
function labelled(labels: Labels): LabelledEnvironment | null {
  const of = (name: string): string | undefined => labels?.[name];
  const [instance, runId, attempt, deadline] = [LABELS.instance, LABELS.run, LABELS.attempt, LABELS.deadline].map(of);
  const purpose = of(LABELS.purpose) ?? 'run';
  if (of(LABELS.managed) !== '1' || instance === undefined || runId === undefined || deadline === undefined)
    return null;
  if (!/^\d+$/.test(attempt ?? '')) return null;
  if (!isPurpose(purpose)) return null;
  const found = { instance, runId, purpose, attempt: Number(attempt), deadline };
  return { ...found, name: environmentName(found) };
}
