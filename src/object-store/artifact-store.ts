import { createHash, randomUUID } from 'node:crypto';
import { mkdir, open, readFile, rename, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { codeOrText, HoldfastError } from '../core/errors/errors.js';
import type { BucketPlace } from '../core/exports/bucket-place.js';
import type { ObjectStore } from './object-store.js';
import { bytesBody } from './signed-request.js';

interface Digest {
  readonly sha256: string;
  readonly sizeBytes: number;
}

/** `differs`: there is something else in its place. */
export type FoundArtifact =
  | { readonly type: 'whole'; readonly bytes: Buffer }
  | { readonly type: 'missing' | 'differs' };

/**
 * Where artifacts of runs are, each under its run and the digest of its content: to put one again changes nothing, and all of a run go
 * together. Throws what the store throws, and `artifacts_unwritable` and `artifacts_unreadable` of a directory.
 */
export interface ArtifactStore {
  /** As it is written beside a run. */
  readonly place: string;
  readonly put: (runId: string, bytes: Buffer) => Promise<Digest>;
  readonly read: (runId: string, digest: Digest) => Promise<FoundArtifact>;
  /** Removes all of a run. */
  readonly remove: (runId: string) => Promise<void>;
}

const sha256Of = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex');

const judged = (bytes: Buffer, { sha256 }: Digest): FoundArtifact =>
  sha256Of(bytes) === sha256 ? { type: 'whole', bytes } : { type: 'differs' };

/** On a disk. Several workers share the directory, or each has artifacts that the others do not. */
export function artifactFolder(dir: string): ArtifactStore {
  const pathOf = (runId: string, sha256: string): string => join(dir, runId, sha256);
  return {
    place: dir,
    put: async (runId, bytes) => {
      const sha256 = sha256Of(bytes);
      const path = pathOf(runId, sha256);
      try {
        await mkdir(dirname(path), { recursive: true, mode: 0o700 });
        await writeWhole(path, bytes);
      } catch (error) {
        const what = `An artifact cannot be written below ${dir}: ${codeOrText(error)}.`;
        throw new HoldfastError('artifacts_unwritable', what, { cause: error });
      }
      return { sha256, sizeBytes: bytes.length };
    },
    read: async (runId, digest) => {
      const path = pathOf(runId, digest.sha256);
      try {
        if ((await stat(path)).size !== digest.sizeBytes) return { type: 'differs' };
        return judged(await readFile(path), digest);
      } catch (error) {
        if (codeOrText(error) === 'ENOENT') return { type: 'missing' };
        const what = `An artifact below ${dir} cannot be read: ${codeOrText(error)}.`;
        throw new HoldfastError('artifacts_unreadable', what, { cause: error });
      }
    },
    remove: async (runId) => rm(join(dir, runId), { recursive: true, force: true }),
  };
}

/** A file is there whole or not at all. */
async function writeWhole(path: string, bytes: Buffer): Promise<void> {
  const draft = `${path}.${randomUUID()}`;
  try {
    const file = await open(draft, 'wx', 0o600);
    try {
      await file.writeFile(bytes);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(draft, path);
  } catch (error) {
    await rm(draft, { force: true });
    throw error;
  }
}

const PAGE = 1000;

/** In a store that speaks S3. */
export function artifactBucket(store: ObjectStore, { bucket, prefix }: BucketPlace): ArtifactStore {
  const keyOf = (runId: string, sha256: string): string => `${prefix}/${runId}/${sha256}`;
  return {
    place: `s3://${bucket}/${prefix}`,
    put: async (runId, bytes) => {
      const body = bytesBody(bytes);
      await store.make({ bucket, key: keyOf(runId, body.sha256) }, body, {}, 'application/octet-stream');
      return { sha256: body.sha256, sizeBytes: bytes.length };
    },
    read: async (runId, digest) => {
      const name = { bucket, key: keyOf(runId, digest.sha256) };
      const head = await store.head(name);
      if (head === null) return { type: 'missing' };
      if (head.sizeBytes !== digest.sizeBytes) return { type: 'differs' };
      const bytes = await store.bytes(name, digest.sizeBytes);
      return bytes === null ? { type: 'missing' } : judged(bytes, digest);
    },
    remove: async (runId) => {
      for (;;) {
        const keys = await store.list(bucket, { prefix: `${prefix}/${runId}/`, limit: PAGE });
        for (const key of keys) await store.remove({ bucket, key });
        if (keys.length < PAGE) return;
      }
    },
  };
}
