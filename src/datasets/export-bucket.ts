import { join } from 'node:path';
import { HoldfastError } from '../core/errors/errors.js';
import type { BucketPlace } from '../core/exports/bucket-place.js';
import { type Made, madeOf } from '../core/exports/dataset-card.js';
import type { ObjectHead, ObjectStore } from '../object-store/object-store.js';
import { fileBody } from '../object-store/signed-request.js';

/** An export in an object store: objects of this export bear its id, and its manifest is made last. */
export interface ExportBucket {
  readonly store: ObjectStore;
  readonly place: BucketPlace;
  readonly id: string;
}

const OWNER = 'holdfast-export';
const SHA256 = 'holdfast-sha256';
const REVISION = 'holdfast-revision';
const PAGE = 1000;

const nameOf = ({ place: { bucket, prefix } }: ExportBucket, path: string) => ({ bucket, key: `${prefix}/${path}` });

const MANIFEST = 'manifest.json';

/** What is there as a whole; null: nothing that says of itself what it is. */
export async function publishedInBucket(to: ExportBucket): Promise<Made | null> {
  return madeOf((await to.store.read(nameOf(to, MANIFEST))) ?? 'null');
}

/** Throws `export_exists` where there is something below the place that is not of this export. */
export async function assertBucketFree(to: ExportBucket): Promise<void> {
  const { bucket, prefix } = to.place;
  const [key] = await to.store.list(bucket, { prefix: `${prefix}/`, limit: 1 });
  if (key === undefined) return;
  if (!isOwn(to, await to.store.head({ bucket, key }))) throw taken(to);
}

const revisionOf = (head: ObjectHead): number => Number(head.labels[REVISION] ?? 0);

const isOwn = (to: ExportBucket, head: ObjectHead | null): boolean => head?.labels[OWNER] === to.id;

const taken = ({ place: { bucket, prefix } }: ExportBucket): HoldfastError =>
  new HoldfastError('export_exists', `There is something at s3://${bucket}/${prefix} already.`);

/**
 * Makes the object of a file, under its path. One that this export has made before stays if its content is the same, and goes if it
 * is of an earlier revision; one that someone else has made is never written over: `export_exists`.
 */
export async function uploadFile(
  to: ExportBucket,
  { from, path, revision }: { readonly from: string; readonly path: string; readonly revision: number },
): Promise<void> {
  const name = nameOf(to, path);
  const body = await fileBody(join(from, path));
  const isThere = (head: ObjectHead | null): boolean => {
    if (head === null) return false;
    if (!isOwn(to, head)) throw taken(to);
    const isSame = head.sizeBytes === body.sizeBytes && head.labels[SHA256] === body.sha256;
    // One of a later revision: this one is not asked for any more.
    return revisionOf(head) > revision || (isSame && revisionOf(head) === revision);
  };
  const before = await to.store.head(name);
  if (isThere(before)) return;
  if (before !== null) await to.store.remove(name);
  const labels = { [OWNER]: to.id, [SHA256]: body.sha256, [REVISION]: String(revision) };
  if (await to.store.make(name, body, labels, typeOf(path))) return;
  // Made by someone in between, or by a request of ours whose answer was lost.
  if (!isThere(await to.store.head(name))) throw taken(to);
}

const TYPES: { readonly [ending: string]: string } = {
  jsonl: 'application/jsonl',
  parquet: 'application/vnd.apache.parquet',
  json: 'application/json',
  md: 'text/markdown; charset=utf-8',
};
const typeOf = (path: string): string => TYPES[path.split('.').at(-1) ?? ''] ?? 'application/octet-stream';

/** Removes what this export has made, up to a revision, its manifest first: what is not whole must not look so. */
export async function removeUploads(to: ExportBucket, revision: number): Promise<void> {
  const { bucket, prefix } = to.place;
  const remove = async (key: string): Promise<void> => {
    const head = await to.store.head({ bucket, key });
    if (head !== null && isOwn(to, head) && revisionOf(head) <= revision) await to.store.remove({ bucket, key });
  };
  await remove(nameOf(to, MANIFEST).key);
  for (let after: string | undefined; ; ) {
    const page = { prefix: `${prefix}/`, limit: PAGE, ...(after === undefined ? {} : { after }) };
    const keys = await to.store.list(bucket, page);
    for (const key of keys) await remove(key);
    after = keys.at(-1);
    if (after === undefined) return;
  }
}
