import { join } from 'node:path';
import type { Knex } from 'knex';
import { datasetFields } from '../src/core/dataset-field.js';
import type { ErrorView } from '../src/core/errors.js';
import { addSkipped, type ExportRequest, type Skipped, type SkipReason } from '../src/core/export.js';
import { type ExportedRun, exportRows, isWanted, type ExportRow as Row } from '../src/core/export-row.js';
import type { JsonObject } from '../src/core/json.js';
import { type Redaction, redactFamily, redactorOf } from '../src/core/redaction.js';
import { splitOf } from '../src/core/split.js';
import { jsonlFile } from '../src/datasets/jsonl-file.js';
import { parquetFile } from '../src/datasets/parquet-file.js';
import type { PartFile, WrittenFile } from '../src/datasets/part-file.js';
import { withoutKnownSecrets } from '../src/models/known-secrets.js';
import { forgetDigests, keepDigests, readListed } from '../src/storage/export-runs.js';
import { type ExportRow, noteProgress, readExport, requestOf } from '../src/storage/exports.js';
import { exportError } from './export-error.js';
import { type Definitions, readExported } from './read-exported.js';
import { withinTime } from './within-time.js';
import type { World } from './world.js';

/** A part is closed when its rows have so many characters, or when it has as many runs as it may. */
const CHARS_PER_PART = 64 * 1024 * 1024;
const PAGE_RUNS = 100;
/** The process does nothing else meanwhile. */
const REDACTION_MS = 1000;

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

export const partPath = (staging: string, kind: PartKind, part: number): string =>
  join(staging, 'parts', `${kind}-${String(part).padStart(5, '0')}`);

/**
 * Writes one part of an export: the runs after `far.done`, as far as they fit. It depends on the listed runs alone, so that a
 * second time the same bytes are written.
 */
export async function writePart(
  world: World,
  id: string,
  staging: string,
  part: number,
  far: Far,
): Promise<PartResult> {
  const { knex } = world;
  const row = await readExport(knex, id);
  if (row === undefined) return { type: 'cancelled' };
  const request = requestOf(row);
  await forgetDigests(knex, id, part);
  const open = (kind: PartKind): PartFile => openFile(partPath(staging, kind, part), kind, request);
  const files = { train: open('train'), validation: open('validation'), runs: open('runs') };
  try {
    const after = await fill(world, row, request, files, part, far);
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

/** Evidence is for people and their tools: lines of JSON, whatever the data are. */
const openFile = (path: string, kind: PartKind, { format, options }: ExportRequest): PartFile =>
  kind !== 'runs' && options.encoding === 'parquet'
    ? parquetFile(path, datasetFields(format, options.reasoningKey))
    : jsonlFile(path);

async function fill(
  world: World,
  row: ExportRow,
  request: ExportRequest,
  files: { readonly [K in PartKind]: PartFile },
  part: number,
  far: Far,
): Promise<Far | null> {
  const { knex } = world;
  const definitions: Definitions = new Map();
  let { done, rows, skipped } = far;
  const { deduplicate, validation, runsPerFile } = request.options;
  let chars = 0;
  while (done - far.done < runsPerFile && chars < CHARS_PER_PART) {
    if ((await readExport(knex, row.id))?.cancel_requested_at !== null) return null;
    const page = await readListed(knex, row.id, done, Math.min(PAGE_RUNS, runsPerFile - (done - far.done)));
    if (page.length === 0) break;
    for await (const batch of readExported(knex, page, definitions, request.format)) {
      done += batch.length;
      const made = batch.flatMap((one): MadeRun[] => {
        const rows = one.type === 'skipped' ? one.why : rowsOf(one.run, request);
        if (one.type === 'run' && typeof rows !== 'string') return [{ run: one.run, rows }];
        skipped = addSkipped(skipped, { [String(rows)]: 1 });
        return [];
      });
      const kept = deduplicate ? await withoutDoubles(knex, row, part, made) : made;
      const doubles = countRows(made) - countRows(kept);
      if (doubles > 0) skipped = addSkipped(skipped, { duplicate: doubles });
      for (const { run, rows: own } of kept) {
        if (own.length === 0) continue;
        const split = splitOf(run.task, validation);
        chars += await files[split].write(own.map(({ columns }) => columns));
        await files.runs.write([evidenceOf(run, own, split)]);
        rows += own.length;
      }
      if (chars >= CHARS_PER_PART) break;
    }
    await noteProgress(knex, row.id, { done, rows, skipped });
  }
  return { done, rows, skipped };
}

interface MadeRun {
  readonly run: ExportedRun;
  readonly rows: readonly Row[];
}

const countRows = (made: readonly MadeRun[]): number => made.reduce((sum, { rows }) => sum + rows.length, 0);

const NO_RULES: Redaction = { patterns: [], keys: [] };

function rowsOf(run: ExportedRun, { format, filters, options }: ExportRequest): readonly Row[] | SkipReason {
  if (!isWanted(run, filters)) return 'filtered';
  const { redact = NO_RULES } = options;
  const clean = redactorOf(redact, withoutKnownSecrets);
  const make = (): readonly Row[] => {
    const trajectory = () => clean(run.trajectory());
    return exportRows({ ...run, family: redactFamily(run.family, clean), trajectory }, format, options);
  };
  const what = `The redaction of run ${run.family.conversation.run.id}`;
  const rows = redact.patterns.length === 0 ? make() : withinTime(REDACTION_MS, what, make);
  return rows.length === 0 ? 'nothing_said' : rows;
}

/** Rows that say what no row before them has said. */
async function withoutDoubles(
  db: Knex,
  row: ExportRow,
  part: number,
  made: readonly MadeRun[],
): Promise<readonly MadeRun[]> {
  const fresh = new Set(
    await keepDigests(
      db,
      row,
      part,
      made.flatMap(({ rows }) => rows.map(({ digest }) => digest)),
    ),
  );
  return made.map(({ run, rows }) => ({ run, rows: rows.filter(({ digest }) => fresh.delete(digest)) }));
}

/** What the rows of a run came from: the head of its log, by which the log is found to be the same. */
const evidenceOf = ({ family, task }: ExportedRun, rows: readonly Row[], split: string): JsonObject => {
  const { run, head } = family.conversation;
  return {
    ...{ run: run.id, task, split, rows: rows.length, head: { ...head } },
    digests: rows.map(({ digest }) => digest),
  };
};
