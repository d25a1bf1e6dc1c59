import type { Knex } from 'knex';
import { z } from 'zod';
import type { ErrorView } from '../core/errors.js';
import {
  type ExportFile,
  type ExportRequest,
  type ExportStatus,
  type ExportView,
  exportFile,
  type Skipped,
  skipped,
  startExport,
} from '../core/export.js';
import { canonical } from '../core/json.js';
import { errorView } from '../core/run.js';
import { newestFirst } from './run-list.js';

/** A row of `holdfast.exports`. */
export interface ExportRow {
  id: string;
  tenant: string;
  status: ExportStatus;
  request: string;
  actor: string;
  folder: string;
  /** Null: it is not known yet. */
  runs: number | null;
  done: number;
  rows: number;
  skipped: string;
  files: string;
  error: string | null;
  cancel_requested_at: Date | null;
  created_at: Date;
  updated_at: Date;
  completed_at: Date | null;
}

const exports_ = (db: Knex) => db<ExportRow>('holdfast.exports');
const now = (db: Knex): Date => db.fn.now() as unknown as Date;

export async function insertExport(
  trx: Knex.Transaction,
  row: Pick<ExportRow, 'id' | 'tenant' | 'actor' | 'folder'> & { readonly asked: ExportRequest },
): Promise<ExportRow> {
  const { asked, ...rest } = row;
  const [made] = await exports_(trx)
    .insert({ ...rest, status: 'queued', request: canonical(asked) })
    .returning('*');
  // It was inserted.
  return made as ExportRow;
}

export const findExport = (db: Knex, tenant: string, id: string): Promise<ExportRow | undefined> =>
  exports_(db).where({ tenant, id }).first();

/** An export of any tenant. */
export const readExport = (db: Knex, id: string): Promise<ExportRow | undefined> => exports_(db).where({ id }).first();

/** One page, newest first, and one more row when there is a next page. */
export const listExportRows = (
  db: Knex,
  filter: { readonly tenant: string; readonly limit: number; readonly cursor?: string },
): Promise<(ExportRow & { readonly place: string })[]> =>
  newestFirst<ExportRow>(db, exports_(db).where({ tenant: filter.tenant }), filter);

const LIVE: readonly ExportStatus[] = ['queued', 'running'];

/** Asks an export to stop. Nothing happens where it is over, or was asked before. */
export const askToCancel = (db: Knex, id: string): Promise<number> =>
  exports_(db)
    .where({ id })
    .whereIn('status', LIVE)
    .whereNull('cancel_requested_at')
    .update({ cancel_requested_at: now(db), updated_at: now(db) });

/** Holds the row of an export until the transaction ends: before what is listed of it. */
export const lockExport = (trx: Knex.Transaction, id: string): Promise<ExportRow | undefined> =>
  exports_(trx).where({ id }).forNoKeyUpdate().first();

/** From here on it works on so many runs. */
export const markRunning = (db: Knex, id: string, runs: number): Promise<number> =>
  exports_(db)
    .where({ id })
    .whereIn('status', LIVE)
    .update({ status: 'running', runs, updated_at: now(db) });

/** How far it is. Never backwards: a part that is written again has been counted. */
export const noteProgress = (
  db: Knex,
  id: string,
  { done, rows, skipped: left }: { readonly done: number; readonly rows: number; readonly skipped: Skipped },
): Promise<number> =>
  exports_(db)
    .where({ id, status: 'running' })
    .where('done', '<=', done)
    .update({ done, rows, skipped: canonical(left), updated_at: now(db) });

/** Ends an export, once. */
export async function endExportRow(
  trx: Knex.Transaction,
  id: string,
  end: { readonly status: ExportStatus; readonly files?: readonly ExportFile[]; readonly error?: ErrorView },
): Promise<void> {
  const { status, files = [], error } = end;
  await exports_(trx)
    .where({ id })
    .whereIn('status', LIVE)
    .update({
      ...{ status, files: canonical(files), error: error === undefined ? null : canonical({ ...error }) },
      ...{ updated_at: now(trx), completed_at: now(trx) },
    });
  await trx('holdfast.export_runs').where({ export_id: id }).delete();
  await trx('holdfast.export_digests').where({ export_id: id }).delete();
}

export const requestOf = (row: ExportRow): ExportRequest => startExport.parse(JSON.parse(row.request));

export const exportViewOf = (row: ExportRow): ExportView => ({
  id: row.id,
  tenant: row.tenant,
  status: row.status,
  request: requestOf(row),
  actor: row.actor,
  folder: row.folder,
  progress: { runs: row.runs, done: row.done, rows: row.rows, skipped: skipped.parse(JSON.parse(row.skipped)) },
  files: z.array(exportFile).parse(JSON.parse(row.files)),
  error: row.error === null ? null : errorView.parse(JSON.parse(row.error)),
  createdAt: row.created_at.toISOString(),
  updatedAt: row.updated_at.toISOString(),
  completedAt: row.completed_at?.toISOString() ?? null,
});
