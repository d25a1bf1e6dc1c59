import { type EnvironmentIdentity, environmentName } from '../../core/containers/environment.js';
import { HoldfastError } from '../../core/errors/errors.js';
import { type ContainerContext, containerOptions, imageOf, labelsOf, volumesOf } from '../docker/container-options.js';
import {
  isAboutDisk,
  isAboutMount,
  isAboutOwner,
  isAboutProfile,
  isImageUnknown,
  isNameTaken,
  isVolumeMade,
} from '../docker/engine-answers.js';
import { type EngineConnection, EngineRefusal, isRefusal } from '../docker/engine-connection.js';
import { type Shared, unshared } from '../egress/egress.js';
import { copyFiles, removeCopier } from '../files/copy-files.js';
import { ourFilter } from './filter.js';

/** Makes a container with its volumes, and the files of its source in them. The one that does the same at once makes the same one. Returns its id; null: it was there. */
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
    engine
      .ask('making a volume', signal, (docker) => docker.createVolume({ Name: volume, Labels: labels }))
      .catch((error: unknown) => {
        if (!isVolumeMade(error)) throw error;
      }),
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
  const filter = identity.spec.security.seccompProfile ?? (await ourFilter(engine, signal));
  const variables = identity.purpose === 'verification' ? await variablesOf(engine, imageOf(identity), signal) : {};
  let context: ContainerContext = { boundDisk: true, filter, ownSecrets: true, egress, variables };
  for (;;) {
    const asked = context;
    try {
      const made = await engine.ask('making the container', signal, (docker) =>
        docker.createContainer({ ...containerOptions(identity, asked), name }),
      );
      return made.id;
    } catch (error) {
      if (isNameTaken(error)) return null;
      if (!(error instanceof EngineRefusal)) throw error;
      const less = without(asked, error, identity);
      if (less === null) throw failureOf(error, identity, egress);
      context = less;
    }
  }
}

/** An image that the engine does not have is refused when the container is made. */
async function variablesOf(
  engine: EngineConnection,
  image: string,
  signal: AbortSignal,
): Promise<Readonly<Record<string, string>>> {
  try {
    const found = await engine.ask('looking at the image', signal, (docker) => docker.getImage(image).inspect());
    const lines: readonly string[] = found.Config?.Env ?? [];
    return Object.fromEntries(lines.map((line) => [line.replace(/=.*/s, ''), line.replace(/^[^=]*=?/, '')]));
  } catch (error) {
    if (isRefusal(error, 404)) return {};
    throw error;
  }
}

/** What is asked for next, less what the engine cannot do; null: nothing else. Whose secrets' directory is, is no one's bound. */
function without(
  context: ContainerContext,
  error: EngineRefusal,
  { spec }: EnvironmentIdentity,
): ContainerContext | null {
  if (context.ownSecrets && isAboutOwner(error)) return { ...context, ownSecrets: false };
  if (!spec.bestEffort) return null;
  if (context.boundDisk && isAboutDisk(error)) return { ...context, boundDisk: false };
  return context.filter !== null && isAboutProfile(error) ? { ...context, filter: null } : null;
}

function failureOf(error: EngineRefusal, identity: EnvironmentIdentity, egress: Shared | null): HoldfastError {
  if (isAboutProfile(error)) {
    const ours =
      'it does not find the file src/containers/seccomp.json of Holdfast: name a copy of it as its seccomp_profile';
    const why = identity.spec.security.seccompProfile === null ? ours : 'it takes none but files of its machine';
    return unenforced('security.seccompProfile', why, error);
  }
  const why = error.message.trim().toWellFormed();
  if (isImageUnknown(error))
    return new HoldfastError('image_unknown', `The engine has no image ${identity.spec.image}.`, { cause: error });
  if (egress !== null && isAboutMount(error)) return unshared(why);
  if (isAboutDisk(error)) return unenforced('limits.diskGb', why, error);
  const what = `The engine does not make ${environmentName(identity)}: ${why}.`;
  return new HoldfastError('environment_failed', what, { cause: error });
}

const unenforced = (field: string, why: string, cause: unknown): HoldfastError =>
  new HoldfastError('environment_unenforceable', `The engine cannot enforce ${field}: ${why}.`, { cause });
