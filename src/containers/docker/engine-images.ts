import type { EngineImage } from '../../core/containers/image-collection.js';
import { type EngineConnection, isRefusal } from './engine-connection.js';
import { findImage } from './inspect.js';

/** An image that lost its name to a newer one is shown with this. */
const NO_NAME = /^<none>[:@]<none>$/;

const bare = (id: string): string => id.replace(/^sha256:/, '');

export const namesOf = ({
  RepoTags,
  RepoDigests,
}: {
  readonly RepoTags?: readonly string[] | null | undefined;
  readonly RepoDigests?: readonly string[] | null | undefined;
}): readonly string[] => [...(RepoTags ?? []), ...(RepoDigests ?? [])].filter((name) => !NO_NAME.test(name));

/** Every image of an engine that has or had a name. */
export async function listImages(engine: EngineConnection, signal: AbortSignal): Promise<readonly EngineImage[]> {
  const found = await engine.ask('looking for images', signal, (docker) => docker.listImages());
  const containers = await engine.ask('looking for containers', signal, (docker) =>
    docker.listContainers({ all: true }),
  );
  // Podman leaves the name of the digest away in one of the two.
  const used = new Set(containers.map(({ ImageID }) => bare(ImageID)));
  return found.map((image) => ({
    ...{ id: image.Id, names: namesOf(image), sizeBytes: image.Size, isUsed: used.has(bare(image.Id)) },
  }));
}

/** What all images take together. A layer that several have counts once, where the engine says so. */
export async function imageBytes(engine: EngineConnection, signal: AbortSignal): Promise<number> {
  const { LayersSize: all, Images: images } = await engine.ask(
    'asking for the space of images',
    signal,
    (
      docker,
    ): Promise<{ readonly LayersSize?: number; readonly Images?: readonly { readonly Size: number }[] | null }> =>
      docker.df(),
  );
  return all || (images ?? []).reduce((sum, { Size }) => sum + Size, 0);
}

/** Removes an image with all of its names. False: a container is made of it, or it has got a name that the engine does not give up. */
export async function removeImage(
  engine: EngineConnection,
  { id, names }: Pick<EngineImage, 'id' | 'names'>,
  signal: AbortSignal,
): Promise<boolean> {
  const remove = (name: string) =>
    engine.ask('removing an image', signal, (docker) => docker.getImage(name).remove({ force: false }));
  const tags = names.filter((name) => !name.includes('@'));
  try {
    // An engine refuses an id that has several names, and takes the last of them with the image. A name may be another image's by now.
    for (const name of tags.slice(1))
      if ((await findImage(engine, name, signal))?.Id === id) await remove(name).catch(unlessGone);
    await remove(id).catch(unlessGone);
    return true;
  } catch (error) {
    if (isRefusal(error, 409)) return false;
    throw error;
  }
}

function unlessGone(error: unknown): void {
  if (!isRefusal(error, 404)) throw error;
}
