import type { StepContext } from '../../../steps/context.js';
import type { Caller } from '../../core/caller.js';
import { HoldfastError } from '../../core/errors/errors.js';
import { isBelow, isBucketText, openRoots } from '../../core/exports/bucket-place.js';
import {
  type ExportRequest,
  type ExportView,
  isExportOver,
  type StartExport,
  startExport as startExportShape,
} from '../../core/exports/export.js';
import { isHubText, isOpenOnHub, openHubRoots } from '../../core/exports/hub-place.js';
import { fieldErrorsOf, invalidRequest } from '../../core/field-errors.js';
import type { Page } from '../../core/page.js';
import { exportFolder, type Whose } from '../../datasets/export-folder.js';
import { type ExportedFile, openExported } from '../../datasets/read-export.js';
import { legibleRows } from '../../storage/database/legible-rows.js';
import { countGone } from '../../storage/exports/exported-runs.js';
import {
  askToCancel,
  type ExportRow,
  exportViewOf,
  findExport,
  insertExport,
  listExportRows,
} from '../../storage/exports/exports.js';
import { cursorAfter } from '../../storage/runs/run-list.js';
import type { EngineContext } from '../engine-context.js';
import { indexShortDue } from '../trajectories/index-trajectories.js';

/** Starts an export of the caller's own runs, in one transaction with its workflow. */
export async function startExport(context: EngineContext, request: StartExport, caller: Caller): Promise<ExportView> {
  const parsed = startExportShape.safeParse(request);
  if (!parsed.success) throw invalidRequest(fieldErrorsOf(parsed.error));
  const { stepContext } = context;
  const id = `exp_${stepContext.newId().replaceAll('-', '')}`;
  const { tenant, actor } = caller;
  const folder = placeFor(stepContext, { tenant, id }, parsed.data.to);
  // Filters choose by scores: runs that have just ended have theirs then.
  await indexShortDue(context, tenant);
  const row = await stepContext.knex.transaction(async (trx) => {
    const made = await insertExport(trx, { id, tenant, actor, folder, asked: parsed.data });
    await context.exports.enqueue(trx, id);
    return made;
  });
  context.exports.wake();
  return exportViewOf(row);
}

/** Where an export will be, as a person reads it. Throws `invalid_request` for what is not open to the tenant. */
function placeFor(
  { exportDir, buckets, repositories }: StepContext,
  whose: Whose,
  { folder = '', s3, hub }: ExportRequest['to'],
): string {
  if (s3 !== undefined) {
    const open = openRoots(buckets?.roots ?? [], whose.tenant);
    if (isBelow(s3, open)) return s3;
    throw notOpen('s3', open, 'to no object store for you; its operator sets HOLDFAST_EXPORT_BUCKETS');
  }
  if (hub !== undefined) {
    const open = openHubRoots(repositories?.roots ?? [], whose.tenant);
    if (isOpenOnHub(hub, open)) return hub;
    throw notOpen('hub', open, 'to no Hub for you; its operator sets HOLDFAST_EXPORT_HUB');
  }
  return exportFolder(exportDir, whose, folder).path;
}

function notOpen(field: 's3' | 'hub', open: readonly string[], none: string): HoldfastError {
  const detail = open.length === 0 ? `this server exports ${none}` : `expected a place below ${open.join(' or ')}`;
  return invalidRequest([{ pointer: `/to/${field}`, detail }]);
}

async function known({ stepContext }: EngineContext, id: string, caller: Caller): Promise<ExportRow> {
  const row = await findExport(stepContext.knex, caller.tenant, id);
  if (row !== undefined) return row;
  throw new HoldfastError('export_unknown', `There is no export ${JSON.stringify(id)}.`);
}

export async function getExport(context: EngineContext, id: string, caller: Caller): Promise<ExportView> {
  const row = await known(context, id, caller);
  return exportViewOf(row, (await countGone(context.stepContext.knex, [id])).get(id));
}

export async function listExports(
  context: EngineContext,
  filter: { readonly limit: number; readonly cursor?: string },
  caller: Caller,
): Promise<Page<ExportView>> {
  const { knex } = context.stepContext;
  const page = await listExportRows(knex, { ...filter, tenant: caller.tenant });
  const idOf = ({ id }: ExportRow) => id;
  const gone = await countGone(knex, page.rows.map(idOf));
  const shown = legibleRows(page.rows, idOf, (row) => exportViewOf(row, gone.get(row.id)));
  return { ...shown, nextCursor: cursorAfter(page) };
}

/** A file that the export says it has, from the disk of this process. */
export async function readExportFile(
  context: EngineContext,
  id: string,
  path: string,
  caller: Caller,
): Promise<ExportedFile> {
  const row = await known(context, id, caller);
  const listed = exportViewOf(row).files.find((file) => file.path === path);
  const isElsewhere = isBucketText(row.folder) || isHubText(row.folder);
  const file = listed && !isElsewhere ? await openExported(context.stepContext.exportDir, row.folder, listed) : null;
  if (file !== null) return file;
  const where = isElsewhere ? ` The export is at ${row.folder}.` : '';
  throw new HoldfastError('export_file_unknown', `There is no file ${JSON.stringify(path)} of ${id} here.${where}`);
}

/** Asks an export to stop; it does so within a page of runs. Repeating it is no error. */
export async function cancelExport(context: EngineContext, id: string, caller: Caller): Promise<ExportView> {
  const row = await known(context, id, caller);
  if (isExportOver(row.status)) throw new HoldfastError('export_over', `The export ${id} is ${row.status}.`);
  await askToCancel(context.stepContext.knex, id);
  return getExport(context, id, caller);
}
