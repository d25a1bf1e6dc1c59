import { type ErrorView, HoldfastError } from '../../src/core/errors/errors.js';
import { bucketPlaceOf, isBelow, openRoots } from '../../src/core/exports/bucket-place.js';
import { type ExportFile, type ExportStatus, isExportOver } from '../../src/core/exports/export.js';
import { exportFolder, removeStaging, stagingOf } from '../../src/datasets/export-folder.js';
import { bucketPlace, type ExportPlace, folderPlace } from '../../src/datasets/export-place.js';
import { listRunsOf } from '../../src/storage/exports/export-runs.js';
import { forgetExported } from '../../src/storage/exports/exported-runs.js';
import {
  type ExportRow,
  endExportRow,
  lockExport,
  markRunning,
  readExport,
  requestOf,
} from '../../src/storage/exports/exports.js';
import type { StepContext } from '../context.js';
import { isTransient, transact } from '../database-retry.js';

export type ExportStart =
  | { readonly type: 'begun'; readonly runs: number }
  | { readonly type: 'cancelled' }
  | { readonly type: 'failed'; readonly error: ErrorView };

/** Makes the place of an export and lists its runs. */
export async function beginExport(ctx: StepContext, id: string): Promise<ExportStart> {
  const row = await readExport(ctx.knex, id);
  if (row === undefined || row.cancel_requested_at !== null) return { type: 'cancelled' };
  try {
    const place = placeOf(ctx, row);
    if (!(await place.isPublished())) await place.prepare();
  } catch (error) {
    return { type: 'failed', error: exportError(error) };
  }
  const runs = await transact(ctx, async (trx) => {
    await lockExport(trx, id);
    const { filters, format } = requestOf(row);
    const listed = await listRunsOf(trx, row, filters, { byTask: format === 'preference' });
    await markRunning(trx, id, listed, folderOf(ctx, row));
    return listed;
  });
  return { type: 'begun', runs };
}

/** How an export ends. */
export interface ExportEnd {
  readonly status: Extract<ExportStatus, 'completed' | 'failed' | 'cancelled'>;
  readonly files?: readonly ExportFile[];
  readonly error?: ErrorView;
}

/**
 * Ends an export, once; nothing is left behind of how it was made. `tried`: whether something may have been published of one that
 * does not come about. That it does not is kept by then, so that no other worker can be publishing it.
 */
export async function endExport(ctx: StepContext, id: string, end: ExportEnd, tried: boolean): Promise<void> {
  const row = await readExport(ctx.knex, id);
  if (row === undefined) return;
  // The store may be why it failed: what is left there has no manifest.
  const isLeft = tried && !isExportOver(row.status) && !(await isWithdrawn(ctx, row));
  await dropStaging(ctx, row);
  await transact(ctx, async (trx) => {
    const isEnded = await endExportRow(trx, id, end);
    if (isEnded && end.status !== 'completed' && !isLeft) await forgetExported(trx, id);
  });
}

const isWithdrawn = async (ctx: StepContext, row: ExportRow): Promise<boolean> => {
  try {
    await placeOf(ctx, row).withdraw(row.revision);
    return true;
  } catch {
    return false;
  }
};

/** Removes what is on this disk of how an export was made. */
export const dropStaging = (ctx: StepContext, row: ExportRow): Promise<void> =>
  removeStaging(stagingOf(ctx.exportDir, row)).catch(() => undefined);

const DISK: { readonly [code: string]: string } = {
  ENOSPC: 'the disk is full',
  EDQUOT: 'the disk is full',
  EACCES: 'this process may not write there',
  EPERM: 'this process may not write there',
  EROFS: 'the disk is read-only',
};

/** Why an export does not come about. What passes by itself, as a database that is away, is thrown again. */
export function exportError(error: unknown): ErrorView {
  if (error instanceof HoldfastError) return error.view();
  if (isTransient(error)) throw error;
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  if ('syscall' in Object(error)) {
    const what = error instanceof Error ? error.message : code;
    return new HoldfastError('export_not_writable', `The export cannot be written: ${DISK[code] ?? what}.`).view();
  }
  // What a parser says quotes what it has read, which may be erased while the export is kept.
  const quotes = error instanceof SyntaxError;
  const what = quotes ? 'a text in the database is not valid' : error instanceof Error ? error.message : String(error);
  return new HoldfastError('export_failed', `The export stopped: ${what.slice(0, 2000).toWellFormed()}`).view();
}

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
