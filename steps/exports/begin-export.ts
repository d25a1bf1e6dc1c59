import type { ErrorView } from '../../src/core/errors/errors.js';
import { type ExportFile, type ExportStatus, isExportOver } from '../../src/core/exports/export.js';
import { removeStaging, stagingOf } from '../../src/datasets/export-folder.js';
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
import { transact } from '../database-retry.js';
import { exportError } from './export-error.js';
import { folderOf, placeOf } from './place-of.js';

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
