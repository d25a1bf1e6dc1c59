import type { ErrorView } from '../src/core/errors.js';
import type { ExportFile, ExportStatus } from '../src/core/export.js';
import {
  type ExportFolder,
  exportFolder,
  isPublished,
  prepareFolder,
  removeStaging,
} from '../src/datasets/export-folder.js';
import { listRunsOf } from '../src/storage/export-runs.js';
import { type ExportRow, endExportRow, markRunning, readExport, requestOf } from '../src/storage/exports.js';
import { exportError } from './export-error.js';
import { transact } from './patience.js';
import type { World } from './world.js';

export type Begun =
  | { readonly type: 'begun'; readonly runs: number }
  | { readonly type: 'cancelled' }
  | { readonly type: 'failed'; readonly error: ErrorView };

export const folderOf = ({ exportDir }: World, row: ExportRow): ExportFolder =>
  exportFolder(exportDir, { tenant: row.tenant, id: row.id, folder: requestOf(row).to.folder });

/** Makes the place of an export and lists its runs. */
export async function beginExport(world: World, id: string): Promise<Begun> {
  const row = await readExport(world.knex, id);
  if (row === undefined || row.cancel_requested_at !== null) return { type: 'cancelled' };
  const folder = folderOf(world, row);
  try {
    if (!(await isPublished(folder, id))) await prepareFolder(world.exportDir, folder);
  } catch (error) {
    return { type: 'failed', error: exportError(error) };
  }
  const runs = await transact(world, async (trx) => {
    const listed = await listRunsOf(trx, row, requestOf(row).filters);
    await markRunning(trx, id, listed);
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

/** Ends an export, once; what does not come about leaves nothing behind. */
export async function endExport(world: World, id: string, end: ExportEnd): Promise<void> {
  const row = await readExport(world.knex, id);
  if (row === undefined) return;
  if (end.status !== 'completed') await removeStaging(folderOf(world, row)).catch(() => undefined);
  await transact(world, (trx) => endExportRow(trx, id, end));
}
