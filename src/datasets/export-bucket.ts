import { join } from 'node:path';
import { z } from 'zod';
import type { BucketPlace } from '../core/bucket-place.js';
import { HoldfastError } from '../core/errors.js';
import { fileBody } from '../stores/bodies.js';
import type { ObjectHead, ObjectStore } from '../stores/object-store.js';

/** An export in an object store: objects of this export bear its id, and its manifest is made last. */
export interface ExportBucket {
  readonly store: ObjectStore;
  readonly place: BucketPlace;
  readonly id: string;
}

const OWNER = 'holdfast-export';
const SHA256 = 'holdfast-sha256';

const nameOf = ({ place: { bucket, prefix } }: ExportBucket, path: string) => ({ bucket, key: `${prefix}/${path}` });

const made = z.object({ export: z.string() });

/** Whether this export is there already, as a whole. */
export async function isInBucket(to: ExportBucket): Promise<boolean> {
  const text = await to.store.read(nameOf(to, 'manifest.json'));
  try {
    return made.safeParse(JSON.parse(text ?? 'null')).data?.export === to.id;
  } catch {
    return false;
  }
}

/** Throws `export_exists` where there is something below the place that is not of this export. */
export async function assertBucketFree(to: ExportBucket): Promise<void> {
  const { bucket, prefix } = to.place;
  const [key] = await to.store.list(bucket, { prefix: `${prefix}/`, limit: 1 });
  if (key === undefined) return;
  if (!isOwn(to, await to.store.head({ bucket, key }))) throw taken(to);
}

const isOwn = (to: ExportBucket, head: ObjectHead | null): boolean => head?.labels[OWNER] === to.id;

const taken = ({ place: { bucket, prefix } }: ExportBucket): HoldfastError =>
  new HoldfastError('export_exists', `There is something at s3://${bucket}/${prefix} already.`);

/**
 * Makes the object of a file, under its path. One that this export has made before, of the same content, stays; one that somebody
 * else has made is never written over: `export_exists`.
 */
export async function uploadFile(to: ExportBucket, from: string, path: string): Promise<void> {
  const name = nameOf(to, path);
  const body = await fileBody(join(from, path));
  const isThere = (head: ObjectHead | null): boolean => {
    if (head === null) return false;
    if (isOwn(to, head) && head.sizeBytes === body.sizeBytes && head.labels[SHA256] === body.sha256) return true;
    throw taken(to);
  };
  if (isThere(await to.store.head(name))) return;
  const labels = { [OWNER]: to.id, [SHA256]: body.sha256 };
  if (await to.store.make(name, body, labels, typeOf(path))) return;
  // Made by somebody in between, or by a request of ours whose answer was lost.
  if (!isThere(await to.store.head(name))) throw taken(to);
}

const TYPES: { readonly [ending: string]: string } = {
  jsonl: 'application/jsonl',
  parquet: 'application/vnd.apache.parquet',
  json: 'application/json',
  md: 'text/markdown; charset=utf-8',
};
const typeOf = (path: string): string => TYPES[path.split('.').at(-1) ?? ''] ?? 'application/octet-stream';

/** Removes what this export has made under these paths, the last first: what is not whole must not look so. */
export async function removeUploads(to: ExportBucket, paths: readonly string[]): Promise<void> {
  for (const path of paths.toReversed()) {
    const name = nameOf(to, path);
    if (isOwn(to, await to.store.head(name))) await to.store.remove(name);
  }
}
