import {
  boundBytesOf,
  type Collectable,
  type CollectionReason,
  collectable,
  imageNames,
  isNamed,
  unusedMsFor,
} from '../../src/core/containers/image-collection.js';
import type { ImageCollection } from '../../src/core/containers/image-policy.js';
import {
  beginImageRemoval,
  forgetGone,
  forgetImage,
  keepImage,
  neededImages,
  pulledImages,
  touchImages,
} from '../../src/storage/containers/pulled-images.js';
import type { EnvironmentContext } from './open-environment.js';

/** Longer than an engine takes to remove an image. A holder that exceeds it is presumed dead. */
const LEASE_MS = 90_000;

export interface CollectedImage {
  readonly name: string;
  readonly reason: CollectionReason;
  readonly sizeBytes: number;
}

/**
 * Removes images that were pulled for runs and that nothing needs. A run keeps its environment before it says that it uses an image, and the
 * removal is said before it is asked again what is needed: one of the two sees the other. `onCollected` is called after each.
 */
export async function collectImages(
  ctx: EnvironmentContext,
  collection: ImageCollection,
  onCollected: (image: CollectedImage) => void,
  signal: AbortSignal,
): Promise<void> {
  const { environments: engine, knex } = ctx;
  if (engine === null) return;
  const id = await engine.id(signal);
  const pulled = await pulledImages(knex, id);
  if (pulled.length === 0) return;
  const images = await engine.images(signal);
  const found = new Set(images.map((image) => image.id));
  const gone = pulled.filter((image) => !found.has(image.id));
  await forgetGone(
    knex,
    id,
    gone.map((image) => image.id),
  );
  const needed = await neededImages(knex, id);
  const wanted = imageNames(needed);
  const inUse = images.filter((image) => image.isUsed || isNamed(image, wanted));
  await touchImages(
    knex,
    id,
    inUse.map((image) => image.id),
  );
  const due = collectable(images, pulled, needed, collection, ctx.now());
  const remove = async ({ image, reason }: Collectable): Promise<void> => {
    const terms = { unusedMs: unusedMsFor(reason, collection), leaseMs: LEASE_MS };
    if (!(await beginImageRemoval(knex, id, image.id, terms))) return;
    const isWanted = isNamed(image, imageNames(await neededImages(knex, id)));
    if (isWanted || !(await engine.removeImage(image, signal))) return keepImage(knex, id, image.id);
    await forgetImage(knex, id, image.id);
    onCollected({ name: image.names[0] ?? image.id, reason, sizeBytes: image.sizeBytes });
  };
  for (const one of due.filter(({ reason }) => reason === 'unused')) await remove(one);
  const bound = boundBytesOf(collection);
  if (bound === null) return;
  for (const one of due.filter(({ reason }) => reason === 'space')) {
    if ((await engine.imageBytes(signal)) <= bound) return;
    await remove(one);
  }
}
