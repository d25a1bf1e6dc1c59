import { type ErrorView, HoldfastError } from '../../src/core/errors/errors.js';
import { bucketPlaceOf, isBelow, openRoots } from '../../src/core/exports/bucket-place.js';
import { type ExportFile, type ExportStatus, isExportOver } from '../../src/core/exports/export.js';
import { hubPlaceOf, isOpenOnHub, openHubRoots } from '../../src/core/exports/hub-place.js';
import { exportFolder, removeStaging, stagingOf } from '../../src/datasets/export-folder.js';
import { bucketPlace, type ExportPlace, folderPlace, hubPlace } from '../../src/datasets/export-place.js';
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

/** Returns where this worker writes an export: its own folder, or the place in the object store or on the Hub. */
export function folderOf({ exportDir }: Pick<StepContext, 'exportDir'>, row: ExportRow): string {
  const { folder = '', s3, hub } = requestOf(row).to;
  return s3 ?? hub ?? exportFolder(exportDir, row, folder).path;
}

type Places = Pick<StepContext, 'exportDir' | 'buckets' | 'repositories'>;

/** Where an export comes to be. Throws `export_not_writable`: this process may not export there. */
export function placeOf(places: Places, row: ExportRow): ExportPlace {
  const { exportDir } = places;
  const { folder = '', s3, hub } = requestOf(row).to;
  if (s3 !== undefined) return placeInStore(places, row, s3);
  if (hub !== undefined) return placeOnHub(places, row, hub);
  return folderPlace(exportDir, exportFolder(exportDir, row, folder), row.id);
}

function placeInStore({ exportDir, buckets }: Places, row: ExportRow, s3: string): ExportPlace {
  const place = bucketPlaceOf(s3);
  // It was found to be open when it was asked for; the settings of this process may be others.
  const { store = null, roots = [] } = buckets ?? {};
  if (store === null || place === null || !isBelow(s3, openRoots(roots, row.tenant)))
    throw notOpen(s3, 'HOLDFAST_EXPORT_BUCKETS');
  return bucketPlace(stagingOf(exportDir, row), { store, place, id: row.id });
}

function placeOnHub({ exportDir, repositories }: Places, row: ExportRow, text: string): ExportPlace {
  const place = hubPlaceOf(text);
  const { hub = null, roots = [] } = repositories ?? {};
  if (hub === null || place === null || !isOpenOnHub(text, openHubRoots(roots, row.tenant)))
    throw notOpen(text, 'HOLDFAST_EXPORT_HUB');
  return hubPlace(stagingOf(exportDir, row), { hub, place, id: row.id });
}

const notOpen = (place: string, setting: string): HoldfastError =>
  new HoldfastError('export_not_writable', `${place} is not below a place that this worker exports to.`, {
    hint: `Give all processes the same ${setting}.`,
  });
