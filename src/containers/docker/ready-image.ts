import { setTimeout as sleep } from 'node:timers/promises';
import type { EnvironmentIdentity, ImageRecords } from '../../core/containers/environment.js';
import { type ImagePolicy, registryOf } from '../../core/containers/image-policy.js';
import { imageOf } from './container-options.js';
import type { EngineConnection } from './engine-connection.js';
import { listImages, namesOf } from './engine-images.js';
import { findImage } from './inspect.js';
import { type PullOptions, pullImage, unpulled } from './pull-image.js';

/** An image that goes is asked for again so often. */
const REMOVED_EACH_MS = 100;

/** How an image comes to the engine. */
export interface ImageOptions {
  readonly images: ImagePolicy;
  readonly pulls: PullOptions;
  /** Absent: nothing is kept of images. */
  readonly records?: ImageRecords;
  readonly signal: AbortSignal;
}

/**
 * Makes sure that the engine has the image of a container that is to be made, as the policy says, and that no one removes it. Where a run is
 * judged the image is that of its container: only a missing one is pulled there. Throws `image_unknown`,
 * `secret_unreadable` and `engine_unreachable`.
 */
export async function readyImage(
  engine: EngineConnection,
  identity: EnvironmentIdentity,
  options: ImageOptions,
): Promise<void> {
  const { image } = identity.spec;
  const { pull } = options.images;
  // The root of another container is on this engine alone.
  if (pull === 'never' || imageOf(identity) !== image) return;
  // An id names one image for good, and no registry.
  const isPulledAgain = pull === 'always' && identity.purpose === 'run' && registryOf(image) !== null;
  await ensureImage(engine, image, isPulledAgain, options);
}

/** `isPulledAgain`: also one that the engine has. Throws as `readyImage`. */
export async function ensureImage(
  engine: EngineConnection,
  image: string,
  isPulledAgain: boolean,
  options: ImageOptions,
): Promise<void> {
  const { records, signal } = options;
  let isPulled = !isPulledAgain;
  for (;;) {
    const found = await findImage(engine, image, signal);
    if (found !== null && records !== undefined && !(await records.use(found.Id))) {
      await sleep(REMOVED_EACH_MS, undefined, { signal });
      continue;
    }
    if (found !== null && isPulled) return;
    await pullAndKeep(engine, image, options);
    isPulled = true;
  }
}

/** Pulls an image, and has it kept that this brought it. */
async function pullAndKeep(
  engine: EngineConnection,
  image: string,
  { pulls, records, signal }: ImageOptions,
): Promise<void> {
  const before = records === undefined ? [] : await listImages(engine, signal);
  await pullImage(engine, image, pulls, signal);
  const pulled = await findImage(engine, image, signal);
  if (pulled === null) throw unpulled(image, 'it is not there after the pull');
  const had = before.find(({ id }) => id === pulled.Id);
  const names = namesOf(pulled).filter((name) => had?.names.includes(name) !== true);
  await records?.pulled({ id: pulled.Id, names, isNew: had === undefined });
}
