import { HoldfastError } from '../../src/core/errors/errors.js';
import { bucketPlaceOf, isBelow, openRoots } from '../../src/core/exports/bucket-place.js';
import { exportFolder, stagingOf } from '../../src/datasets/export-folder.js';
import { bucketPlace, type ExportPlace, folderPlace } from '../../src/datasets/export-place.js';
import { type ExportRow, requestOf } from '../../src/storage/exports/exports.js';
import type { StepContext } from '../context.js';

/** Returns where this worker writes an export: its own folder, or the place in the object store. */
export function folderOf({ exportDir }: Pick<StepContext, 'exportDir'>, row: ExportRow): string {
  const { folder = '', s3 } = requestOf(row).to;
  return s3 ?? exportFolder(exportDir, row, folder).path;
}

/** Where an export comes to be. Throws `export_not_writable`: this process may not export there. */
export function placeOf(
  { exportDir, buckets }: Pick<StepContext, 'exportDir' | 'buckets'>,
  row: ExportRow,
): ExportPlace {
  const { folder = '', s3 } = requestOf(row).to;
  if (s3 === undefined) return folderPlace(exportDir, exportFolder(exportDir, row, folder), row.id);
  const place = bucketPlaceOf(s3);
  // It was found to be open when it was asked for; the settings of this process may be others.
  const { store = null, roots = [] } = buckets ?? {};
  if (store === null || place === null || !isBelow(s3, openRoots(roots, row.tenant)))
    throw new HoldfastError('export_not_writable', `${s3} is not below a place that this worker exports to.`, {
      hint: 'Give all processes the same HOLDFAST_EXPORT_BUCKETS.',
    });
  return bucketPlace(stagingOf(exportDir, row), { store, place, id: row.id });
}
