import { mkdir } from 'node:fs/promises';
import { isMade } from '../core/exports/dataset-card.js';
import { assertBucketFree, type ExportBucket, publishedInBucket, removeUploads, uploadFile } from './export-bucket.js';
import { type ExportFolder, prepareFolder, publishedIn, publishFolder, withdrawFolder } from './export-folder.js';
import { type ExportHub, isMadeOnHub, prepareOnHub, publishOnHub, withdrawFromHub } from './export-hub.js';

type GoesOn = (sent: number) => Promise<boolean>;

/** Where an export comes to be: it is made in a directory of this machine, and is there as a whole when it is published. */
export interface ExportPlace {
  readonly staging: string;
  /** Whether it is there already, as a whole: this revision of it, or any. */
  readonly isPublished: (revision?: number) => Promise<boolean>;
  /** Throws `export_exists`, `export_not_writable`, and what the store throws. */
  readonly prepare: () => Promise<void>;
  /**
   * Puts the files of a directory in their place, the last one last. Gives false when `goesOn` did not let it, which is asked before each
   * file that is sent, with how many there are by then. Throws `export_exists`, and what the store throws.
   */
  readonly publish: (from: string, paths: readonly string[], goesOn: GoesOn) => Promise<boolean>;
  /** Takes back what was published of it, up to a revision. */
  readonly withdraw: (revision: number) => Promise<void>;
}

export const folderPlace = (dir: string, folder: ExportFolder, id: string): ExportPlace => ({
  staging: folder.staging,
  isPublished: async (revision) => isMade(await publishedIn(folder), id, revision),
  prepare: () => prepareFolder(dir, folder),
  publish: async (from) => {
    await publishFolder(folder, from);
    return true;
  },
  withdraw: (revision) => withdrawFolder(folder, id, revision),
});

export const bucketPlace = (staging: string, to: ExportBucket): ExportPlace => ({
  staging,
  isPublished: async (revision) => isMade(await publishedInBucket(to), to.id, revision),
  prepare: async () => {
    await mkdir(staging, { recursive: true, mode: 0o700 });
    await assertBucketFree(to);
  },
  publish: async (from, paths, goesOn) => {
    const revision = (await publishedIn({ path: from }))?.revision ?? 0;
    for (const [sent, path] of paths.entries()) {
      if (!(await goesOn(sent))) return false;
      await uploadFile(to, { from, path, revision });
    }
    return true;
  },
  withdraw: (revision) => removeUploads(to, revision),
});

export const hubPlace = (staging: string, to: ExportHub): ExportPlace => ({
  staging,
  isPublished: (revision) => isMadeOnHub(to, revision),
  prepare: async () => {
    await mkdir(staging, { recursive: true, mode: 0o700 });
    await prepareOnHub(to);
  },
  publish: async (from, paths, goesOn) => {
    const revision = (await publishedIn({ path: from }))?.revision ?? 0;
    return publishOnHub(to, { from, paths, revision }, goesOn);
  },
  withdraw: (revision) => withdrawFromHub(to, revision),
});
