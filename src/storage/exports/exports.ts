import type { Knex } from 'knex';
import { z } from 'zod';
import type { ErrorView } from '../../core/errors/errors.js';
import {
  type ExportFile,
  type ExportRequest,
  type ExportSending,
  type ExportStatus,
  type ExportView,
  exportFile,
  exportSending,
  recordedExport,
  type Skipped,
  skipped,
} from '../../core/exports/export.js';
import { canonical } from '../../core/json.js';
import { errorView, labelsOf } from '../../core/runs/run.js';
import { viewOfRow } from '../database/legible-rows.js';
import { readJson, readJsonOrNull } from '../database/stored-json.js';
import type { PageRows } from '../runs/page-rows.js';
import { newestFirst, type Placed } from '../runs/run-list.js';
import { metadataOf, type RunRow } from '../runs/run-row.js';

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
  /** How often it was begun again from some part on, because a run in it was erased. */
  revision: number;
  /** How much is in its store, as JSON. */
  sending: string | null;
  /** The process that works on it; null: none, or one that has left. */
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

/** A page, newest first. */
export const listExportRows = (
  db: Knex,
  filter: { readonly tenant: string; readonly limit: number; readonly cursor?: string },
): Promise<PageRows<Placed<ExportRow>>> =>
  newestFirst(db, exports_(db).where({ tenant: filter.tenant }).select('*'), filter, {
    bytes: 'octet_length(request) + octet_length(files) + octet_length(skipped) + coalesce(octet_length(error), 0)',
  });

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

/** From here on it works on so many runs. `folder`: where it is written, as the worker has it that writes. */
export const markRunning = (db: Knex, id: string, runs: number, folder: string): Promise<number> =>
  exports_(db)
    .where({ id })
    .whereIn('status', LIVE)
    .update({ status: 'running', runs, folder, updated_at: now(db) });

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

/** Notes how much is in its store, and gives its row; undefined: it does not work any more. */
export async function noteSending(db: Knex, id: string, sending: ExportSending): Promise<ExportRow | undefined> {
  const [row] = await exports_(db)
    .where({ id, status: 'running' })
    .update({ sending: canonical({ ...sending }), updated_at: now(db) })
    .returning('*');
  return row;
}

/** From here on it is the next revision. */
export const raiseRevision = (trx: Knex.Transaction, id: string): Promise<number> =>
  exports_(trx).where({ id }).update({ sending: null }).increment('revision', 1);

/** Ends an export, once; false: it was over. */
export async function endExportRow(
  trx: Knex.Transaction,
  id: string,
  end: { readonly status: ExportStatus; readonly files?: readonly ExportFile[]; readonly error?: ErrorView },
): Promise<boolean> {
  const { status, files = [], error } = end;
  const ended = await exports_(trx)
    .where({ id })
    .whereIn('status', LIVE)
    .update({
      ...{ status, files: canonical(files), error: error === undefined ? null : canonical({ ...error }) },
      ...{ sending: null, updated_at: now(trx), completed_at: now(trx) },
    });
  await eraseTagOfEnded(trx, id);
  await trx('holdfast.export_runs').where({ export_id: id }).delete();
  await trx('holdfast.export_digests').where({ export_id: id }).delete();
  return ended > 0;
}

const cell = ({ id }: ExportRow, column: keyof ExportRow) => ({ table: 'exports', row: id, column });

export const requestOf = (row: ExportRow): ExportRequest => readJson(recordedExport, row.request, cell(row, 'request'));

/** `erasedSince`: how many of its runs are gone by now. */
export const exportViewOf = (row: ExportRow, erasedSince = 0): ExportView =>
  viewOfRow(row, { table: 'exports', row: row.id }, (one) => shownExport(one, erasedSince));

const shownExport = (row: ExportRow, erasedSince: number): ExportView => ({
  id: row.id,
  tenant: row.tenant,
  status: row.status,
  request: requestOf(row),
  actor: row.actor,
  folder: row.folder,
  progress: {
    ...{
      runs: row.runs,
      done: row.done,
      rows: row.rows,
      skipped: readJson(skipped, row.skipped, cell(row, 'skipped')),
    },
    sending: readJsonOrNull(exportSending, row.sending, cell(row, 'sending')),
  },
  files: readJson(z.array(exportFile), row.files, cell(row, 'files')),
  erasedSince,
  error: readJsonOrNull(errorView, row.error, cell(row, 'error')),
  createdAt: row.created_at.toISOString(),
  updatedAt: row.updated_at.toISOString(),
  completedAt: row.completed_at?.toISOString() ?? null,
});

/** Stands where a name was that someone chose. */
export const ERASED_NAME = 'erased';

const TAG = `request::jsonb #>> '{filters,tag}'`;
const WITHOUT = `jsonb_set(request::jsonb, '{filters,tag}', to_jsonb(?::text))::text`;

/**
 * Takes the tags of a run, which may be about a person, out of what exports asked for, in the transaction that erases or removes the run.
 * One that is at work needs its tag until its end, which waits for this transaction.
 */
export async function eraseTags(trx: Knex.Transaction, run: RunRow): Promise<void> {
  const { tags } = labelsOf(metadataOf(run));
  if (tags.length === 0) return;
  const asked = () => trx('holdfast.exports').where({ tenant: run.tenant }).whereRaw(`${TAG} = any(?)`, [tags]);
  await asked().orderBy('id').forUpdate().select('id');
  await asked()
    .whereNotNull('completed_at')
    .update({ request: trx.raw(WITHOUT, [ERASED_NAME]) });
}

/** Takes the tag of an export away that ends, where a run that it lists was erased or removed meanwhile. Under the lock of its row. */
async function eraseTagOfEnded(trx: Knex.Transaction, exportId: string): Promise<void> {
  const gone = trx('holdfast.export_runs as x')
    .leftJoin('holdfast.runs as r', 'r.id', 'x.run_id')
    .where('x.export_id', exportId)
    .where((one) => one.whereNull('r.id').orWhereNotNull('r.erased_at'))
    .select('x.run_id');
  await trx('holdfast.exports')
    .where({ id: exportId })
    .whereRaw(`${TAG} is not null`)
    .whereExists(gone)
    .update({ request: trx.raw(WITHOUT, [ERASED_NAME]) });
}
