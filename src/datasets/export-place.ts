import { mkdir } from 'node:fs/promises';
import { assertBucketFree, type ExportBucket, isInBucket, removeUploads, uploadFile } from './export-bucket.js';
import { type ExportFolder, isPublished, prepareFolder, publishFolder, removeStaging } from './export-folder.js';

/** Where an export comes to be: it is made in a directory of this machine, and is there as a whole when it is published. */
export interface ExportPlace {
  readonly staging: string;
  /** Whether it is there already, as a whole. */
  readonly isPublished: () => Promise<boolean>;
  /** Throws `export_exists`, `export_not_writable`, and what the store throws. */
  readonly prepare: () => Promise<void>;
  /**
   * Puts the files of the staging directory in their place, the last one last. Gives false when `goesOn` did not let it.
   * Throws `export_exists`, and what the store throws.
   */
  readonly publish: (paths: readonly string[], goesOn: () => Promise<boolean>) => Promise<boolean>;
  /** Takes back what was published of an export that does not come about. */
  readonly withdraw: (paths: readonly string[]) => Promise<void>;
  readonly clean: () => Promise<void>;
}

export const folderPlace = (dir: string, folder: ExportFolder, id: string): ExportPlace => ({
  staging: folder.staging,
  isPublished: () => isPublished(folder, id),
  prepare: () => prepareFolder(dir, folder),
  publish: async () => {
    await publishFolder(folder, id);
    return true;
  },
  withdraw: async () => undefined,
  clean: () => removeStaging(folder.staging),
});

export const bucketPlace = (staging: string, to: ExportBucket): ExportPlace => ({
  staging,
  isPublished: () => isInBucket(to),
  prepare: async () => {
    await mkdir(staging, { recursive: true });
    await assertBucketFree(to);
  },
  publish: async (paths, goesOn) => {
    for (const path of paths) {
      if (!(await goesOn())) return false;
      await uploadFile(to, staging, path);
    }
    return true;
  },
  withdraw: (paths) => removeUploads(to, paths),
  clean: () => removeStaging(staging),
});
