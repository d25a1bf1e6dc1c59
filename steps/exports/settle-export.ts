import type { Knex } from 'knex';
import { type ExportFile, isExportOver } from '../../src/core/exports/export.js';
import { forgetOutdated, lockExported, outdatedPart } from '../../src/storage/exports/exported-runs.js';
import { type ExportRow, endExportRow, lockExport, raiseRevision } from '../../src/storage/exports/exports.js';
import type { StepContext } from '../context.js';
import { transact } from '../database-retry.js';

/** A run that was read is erased or removed by now: from this part on the export is written again, as the next revision. */
export interface Outdated {
  readonly type: 'outdated';
  readonly revision: number;
  readonly from: number;
}

/** Whether a revision still is what may be published; null: it is. */
export const findOutdated = (ctx: StepContext, id: string, revision: number): Promise<Outdated | null> =>
  transact(ctx, async (trx) => {
    const row = await lockExport(trx, id);
    return row === undefined || isExportOver(row.status) ? null : outdated(trx, row, revision);
  });

/**
 * Completes an export whose files are in their place. No run is erased meanwhile: one that was before makes the export outdated,
 * and one that comes after finds that it is in it.
 */
export const completeExport = (
  ctx: StepContext,
  id: string,
  revision: number,
  files: readonly ExportFile[],
): Promise<Outdated | null> =>
  transact(ctx, async (trx) => {
    await lockExported(trx);
    const row = await lockExport(trx, id);
    if (row === undefined || isExportOver(row.status)) return null;
    const found = await outdated(trx, row, revision);
    if (found === null) await endExportRow(trx, id, { status: 'completed', files });
    return found;
  });

/**
 * Each revision is caused by a run of the list that is gone, and none is gone twice: there are at most as many as listed runs.
 * Where it was found before, by an execution that did not come to record it, everything is written again.
 */
async function outdated(trx: Knex.Transaction, row: ExportRow, revision: number): Promise<Outdated | null> {
  if (row.revision > revision) return { type: 'outdated', revision: row.revision, from: 0 };
  const from = await outdatedPart(trx, row.id);
  if (from === null) return null;
  await forgetOutdated(trx, row.id, from);
  await raiseRevision(trx, row.id);
  return { type: 'outdated', revision: revision + 1, from };
}
