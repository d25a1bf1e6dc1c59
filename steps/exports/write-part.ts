import { join } from 'node:path';
import type { Knex } from 'knex';
import { type ErrorView, HoldfastError } from '../../src/core/errors/errors.js';
import { splitOf } from '../../src/core/exports/dataset-card.js';
import { datasetFields } from '../../src/core/exports/dataset-field.js';
import { addSkipped, type ExportRequest, type Skipped } from '../../src/core/exports/export.js';
import type { JsonObject } from '../../src/core/json.js';
import { evalLogFile } from '../../src/datasets/eval-log-file.js';
import { jsonlFile } from '../../src/datasets/jsonl-file.js';
import { parquetFile } from '../../src/datasets/parquet-file.js';
import { digestedPath, type PartFile, type WrittenFile } from '../../src/datasets/part-file.js';
import { forgetDigests, saveDigests } from '../../src/storage/exports/export-runs.js';
import { saveExportedRuns } from '../../src/storage/exports/exported-runs.js';
import { type ExportRow, noteProgress, readExport, requestOf } from '../../src/storage/exports/exports.js';
import type { StepContext } from '../context.js';
import { exportError } from './begin-export.js';
import { type MadeRows, type RowBatch, rowsOfPairs, rowsOfRuns } from './export-rows.js';

/** A part is closed when its rows have so many characters, or when it has as many runs as it may. */
const CHARS_PER_PART = 64 * 1024 * 1024;

export const PART_KINDS = ['train', 'validation', 'runs'] as const;
export type PartKind = (typeof PART_KINDS)[number];

/** How far an export is before a part, or after it. */
export interface Far {
  /** The last position that was looked at. */
  readonly done: number;
  readonly rows: number;
  readonly skipped: Skipped;
}

export interface WrittenPart extends Far {
  readonly type: 'written';
  readonly part: number;
  readonly files: { readonly [K in PartKind]: WrittenFile | null };
}

export type PartResult =
  | WrittenPart
  | { readonly type: 'cancelled' }
  | { readonly type: 'failed'; readonly error: ErrorView };

const partName = (dir: string, kind: PartKind, part: number): string =>
  join(dir, 'parts', `${kind}-${String(part).padStart(5, '0')}`);

/** Where a file of a part is, in the directory of its revision. */
export const partPath = (dir: string, kind: PartKind, part: number, { sha256 }: Pick<WrittenFile, 'sha256'>): string =>
  digestedPath(partName(dir, kind, part), sha256);

/**
 * Writes one part of an export: the runs after `far.done`, as far as they fit. It depends on the listed runs alone, so that a
 * second time the same bytes are written.
 */
export async function writePart(
  ctx: StepContext,
  id: string,
  dir: string,
  part: number,
  far: Far,
): Promise<PartResult> {
  const { knex } = ctx;
  const row = await readExport(knex, id);
  if (row === undefined) return { type: 'cancelled' };
  const request = requestOf(row);
  const unread = await ctx.readSecrets();
  if (unread.length > 0) return { type: 'failed', error: unredacted(unread).view() };
  await forgetDigests(knex, id, part);
  const open = (kind: PartKind): Promise<PartFile> => openFile(partName(dir, kind, part), kind, row);
  const files = { train: await open('train'), validation: await open('validation'), runs: await open('runs') };
  try {
    const after = await fill(ctx, row, request, files, part, far);
    if (after === null) return { type: 'cancelled' };
    const ended = {
      train: await files.train.end(),
      validation: await files.validation.end(),
      runs: await files.runs.end(),
    };
    return { type: 'written', part, files: ended, ...after };
  } catch (error) {
    return { type: 'failed', error: exportError(error) };
  } finally {
    for (const kind of PART_KINDS) await files[kind].abandon();
  }
}

/** What is not known cannot be taken out. */
const unredacted = (places: readonly string[]): HoldfastError =>
  new HoldfastError(
    'secret_unreadable',
    `What is exported cannot be redacted: a secret cannot be read from ${places.join(', ')}.`,
  );

/** Evidence is for people and their tools: lines of JSON, whatever the data are. */
async function openFile(path: string, kind: PartKind, row: ExportRow): Promise<PartFile> {
  const { format, options } = requestOf(row);
  const naming = { digested: true };
  if (kind === 'runs') return jsonlFile(path, naming);
  if (format === 'inspect') return evalLogFile(path, { id: row.id, createdAt: row.created_at.toISOString() }, naming);
  return options.encoding === 'parquet'
    ? parquetFile(path, datasetFields(format, options), naming)
    : jsonlFile(path, naming);
}

const batchesOf = (db: Knex, id: string, request: ExportRequest, after: number): AsyncIterable<RowBatch> => {
  const { format } = request;
  return format === 'preference'
    ? rowsOfPairs(db, id, request, after)
    : rowsOfRuns(db, id, { ...request, format }, after);
};

async function fill(
  { knex }: StepContext,
  row: ExportRow,
  request: ExportRequest,
  files: { readonly [K in PartKind]: PartFile },
  part: number,
  far: Far,
): Promise<Far | null> {
  let { done, rows, skipped } = far;
  const { deduplicate, validation } = request.options;
  let chars = 0;
  for await (const batch of batchesOf(knex, row.id, request, far.done)) {
    if ((await readExport(knex, row.id))?.cancel_requested_at !== null) return null;
    done = batch.done;
    const kept = deduplicate ? await withoutDoubles(knex, row, part, batch.made) : batch.made;
    const duplicate = countRows(batch.made) - countRows(kept);
    skipped = addSkipped(addSkipped(skipped, batch.skipped), { duplicate });
    const written = kept.filter((made) => made.rows.length > 0);
    await saveExportedRuns(knex, row, part, written.flatMap(sourcesOf));
    for (const made of written) {
      const split = splitOf(made.task, validation);
      chars += await files[split].write(made.rows.map(({ columns }) => columns));
      await files.runs.write(evidenceOf(made, split));
      rows += made.rows.length;
    }
    await noteProgress(knex, row.id, { done, rows, skipped });
    if (chars >= CHARS_PER_PART) break;
  }
  return { done, rows, skipped };
}

const countRows = (made: readonly MadeRows[]): number => made.reduce((sum, { rows }) => sum + rows.length, 0);

/** Whose words are in rows. */
const sourcesOf = ({ runs, below }: MadeRows): readonly string[] => [...runs.map(({ id }) => id), ...below];

/** Rows that say what no row before them has said. */
async function withoutDoubles(
  db: Knex,
  row: ExportRow,
  part: number,
  made: readonly MadeRows[],
): Promise<readonly MadeRows[]> {
  const fresh = new Set(
    await saveDigests(
      db,
      row,
      part,
      made.flatMap(({ rows }) => rows.map(({ digest }) => digest)),
    ),
  );
  return made.map((one) => ({ ...one, rows: one.rows.filter(({ digest }) => fresh.delete(digest)) }));
}

/** What rows came from: for each run the head of its log, which shows whether the log is the same. */
const evidenceOf = ({ shownTask, rows, runs }: MadeRows, split: string): JsonObject[] =>
  runs.map(({ id, head }) => ({
    ...{ run: id, task: shownTask, split, rows: rows.length, head: { ...head } },
    digests: rows.map(({ digest }) => digest),
  }));
