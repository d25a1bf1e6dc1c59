import { type EnvironmentIdentity, environmentName } from '../core/environment.js';
import { HoldfastError } from '../core/errors.js';
import { containerOptions, labelsOf, volumesOf } from './container-options.js';
import { copyFiles, removeCopier } from './copy-files.js';
import { type Shared, unshared } from './egress.js';
import { type EngineConnection, EngineRefusal, isRefusal } from './engine-connection.js';

/** Makes a container with its volumes, and the files of its source in them. Whoever does the same at once makes the same one. Returns its id; null: it was there. */
export async function makeContainer(
  engine: EngineConnection,
  identity: EnvironmentIdentity,
  egress: Shared | null,
  signal: AbortSignal,
): Promise<string | null> {
  const labels = labelsOf(identity);
  const name = environmentName(identity);
  const made = Object.values(volumesOf(name)).map((volume) =>
    // Of one name there is one: making it again gives the first.
    engine.ask('making a volume', signal, (docker) => docker.createVolume({ Name: volume, Labels: labels })),
  );
  // What fails while another one is on its way must not leave that behind.
  await Promise.allSettled(made);
  await Promise.all(made);
  if (identity.source !== null) await copyFiles(engine, identity, identity.source, signal);
  const id = await createContainer(engine, identity, egress, signal);
  if (identity.source !== null) await removeCopier(engine, identity, signal);
  return id;
}

/** Makes a container on volumes that are there. Returns its id; null: one of the name was there. */
export async function createContainer(
  engine: EngineConnection,
  identity: EnvironmentIdentity,
  egress: Shared | null,
  signal: AbortSignal,
  name: string = environmentName(identity),
): Promise<string | null> {
  const create = (boundDisk: boolean) =>
    engine.ask('making the container', signal, (docker) =>
      docker.createContainer({ ...containerOptions(identity, { boundDisk, egress }), name }),
    );
  try {
    const made = await create(true).catch((error: unknown) => {
      if (!identity.spec.bestEffort || !isAboutDisk(error)) throw error;
      return create(false);
    });
    return made.id;
  } catch (error) {
    if (isRefusal(error, 404) && /no such image|not found|image not known/i.test(error.message))
      throw new HoldfastError('image_unknown', `The engine has no image ${identity.spec.image}.`, { cause: error });
    // Another process made it; Podman says so with 500.
    if (isRefusal(error, 409, 500) && /already in use/i.test(error.message)) return null;
    if (!(error instanceof EngineRefusal)) throw error;
    if (egress !== null && /bind source path/i.test(error.message)) throw unshared(error.message.trim());
    if (isAboutDisk(error)) {
      throw new HoldfastError(
        'environment_unenforceable',
        `The engine cannot enforce limits.diskGb: ${error.message.trim()}.`,
        { cause: error },
      );
    }
    throw new HoldfastError(
      'environment_failed',
      `The engine does not make ${environmentName(identity)}: ${error.message.trim()}.`,
      {
        cause: error,
      },
    );
  }
}

const isAboutDisk = (error: unknown): boolean =>
  error instanceof EngineRefusal && /storage-opt|quota/i.test(error.message);
