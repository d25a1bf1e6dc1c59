import { fullImageName, type ImageCollection } from './image-policy.js';

/** An image as an engine has it. */
export interface EngineImage {
  readonly id: string;
  /** Its names by tag and by digest. */
  readonly names: readonly string[];
  readonly sizeBytes: number;
  /** Whether a container is made of it. */
  readonly isUsed: boolean;
}

/** An image that was pulled for a run and that the engine did not have before. */
export interface PulledImage {
  readonly id: string;
  /** The names that pulls gave it. */
  readonly names: readonly string[];
  readonly usedAt: Date;
}

export type CollectionReason = 'unused' | 'space';

export interface Collectable {
  readonly image: EngineImage;
  readonly reason: CollectionReason;
}

/** Shorter ago an image was in use, so that the next run of the same kind does not pull it again. */
const RESTS_MS = 10 * 60_000;
const HOUR_MS = 3_600_000;
const GIGABYTE = 1e9;

/** For how long nothing may have used an image that is removed for this reason. */
export const unusedMsFor = (reason: CollectionReason, { unusedHours }: ImageCollection): number =>
  reason === 'space' || unusedHours === undefined ? RESTS_MS : unusedHours * HOUR_MS;

/** What all images may take together; null: there is no bound. */
export const boundBytesOf = ({ aboveGb }: ImageCollection): number | null =>
  aboveGb === undefined ? null : aboveGb * GIGABYTE;

/**
 * Returns which images of an engine may go, the longest unused first: those that have been unused for long enough, and those that go
 * only for space. `needed`: names that something stands for. An image that has got a name from someone else is not ours alone.
 */
export function collectable(
  images: readonly EngineImage[],
  pulled: readonly PulledImage[],
  needed: Iterable<string>,
  collection: ImageCollection,
  nowMs: number,
): readonly Collectable[] {
  const stays = imageNames([...needed, ...collection.keep]);
  const found = new Map(images.map((image) => [image.id, image]));
  return pulled
    .toSorted((a, b) => a.usedAt.getTime() - b.usedAt.getTime())
    .flatMap((own) => {
      const image = found.get(own.id);
      if (image === undefined || image.isUsed || isNamed(image, stays) || isNamedByOthers(image, own)) return [];
      const reason = reasonFor(own, collection, nowMs);
      return reason === null ? [] : [{ image, reason }];
    });
}

function reasonFor({ usedAt }: PulledImage, collection: ImageCollection, nowMs: number): CollectionReason | null {
  const isUnused = (reason: CollectionReason): boolean => nowMs - usedAt.getTime() > unusedMsFor(reason, collection);
  if (collection.unusedHours !== undefined && isUnused('unused')) return 'unused';
  return collection.aboveGb !== undefined && isUnused('space') ? 'space' : null;
}

/** Names of images, one text for each image. */
export const imageNames = (names: Iterable<string>): ReadonlySet<string> => new Set([...names].map(fullImageName));

/** Whether an image is among some that `imageNames` gave, by its id or one of its names. */
export const isNamed = ({ id, names }: EngineImage, among: ReadonlySet<string>): boolean =>
  [id, ...names].some((name) => among.has(fullImageName(name)));

function isNamedByOthers({ names }: EngineImage, own: PulledImage): boolean {
  const given = new Set(own.names);
  return names.some((name) => !given.has(name));
}
