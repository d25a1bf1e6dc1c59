import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Knex } from 'knex';
import { type ErrorView, HoldfastError } from '../../src/core/errors/errors.js';
import { datasetCard, exportManifest } from '../../src/core/exports/dataset-card.js';
import { type ExportFile, endingOf, isExportOver } from '../../src/core/exports/export.js';
import { hasFile, moveFile, revisionDir, tidyStaging, writeText } from '../../src/datasets/export-folder.js';
import type { ExportPlace } from '../../src/datasets/export-place.js';
import { forgetOutdated, lockExported, outdatedPart } from '../../src/storage/exports/exported-runs.js';
import {
  type ExportRow,
  endExportRow,
  lockExport,
  noteSending,
  raiseRevision,
  requestOf,
} from '../../src/storage/exports/exports.js';
import type { StepContext } from '../context.js';
import { transact } from '../database-retry.js';
import { exportError } from './begin-export.js';
import { type Far, PART_KINDS, type PartKind, partPath, type WrittenPart, writePart } from './write-part.js';

export type Published =
  | { readonly type: 'published'; readonly files: readonly ExportFile[] }
  | Outdated
  | { readonly type: 'cancelled' }
  | { readonly type: 'failed'; readonly error: ErrorView };

const FOLDER_OF: { readonly [K in PartKind]: string } = { train: 'data', validation: 'data', runs: 'evidence' };
const five = (number: number): string => String(number).padStart(5, '0');

/** A file of a part, and its name among those of all parts. */
interface Placed {
  readonly kind: PartKind;
  readonly part: WrittenPart;
  readonly file: ExportFile;
}

function placed(parts: readonly WrittenPart[], ending: string): Placed[] {
  return PART_KINDS.flatMap((kind) => {
    const those = parts.flatMap((part) => {
      const file = part.files[kind];
      return file === null ? [] : [{ part, file }];
    });
    return those.map(({ part, file }, index) => ({
      ...{ kind, part },
      file: {
        path: `${FOLDER_OF[kind]}/${kind}-${five(index)}-of-${five(those.length)}.${kind === 'runs' ? 'jsonl' : ending}`,
        split: kind === 'runs' ? null : kind,
        ...file,
      },
    }));
  });
}

const CARD = 'README.md';
const MANIFEST = 'manifest.json';

/** What an export consists of: the parts of a revision. */
export interface Whole {
  readonly revision: number;
  readonly parts: readonly WrittenPart[];
}

/**
 * Gives the parts their names, adds card and manifest, puts all of it in its place, and completes the export. It is there as a whole or
 * not at all, and a run that was erased before is not in it: what has one is taken back, and is outdated.
 */
export async function publishExport(
  ctx: StepContext,
  row: ExportRow,
  place: ExportPlace,
  whole: Whole,
): Promise<Published> {
  const { revision, parts } = whole;
  const all = placed(parts, endingOf(requestOf(row)));
  const files = all.map(({ file }) => file);
  const from = join(revisionDir(place.staging, revision), 'whole');
  const takeBack = async (found: Outdated): Promise<Outdated> => {
    await place.withdraw(revision);
    // Parts that stay are moved from where they are, as far as they are still there.
    await rm(from, { recursive: true, force: true });
    return found;
  };
  // By an execution that did not come to say so.
  if (row.status === 'completed') return { type: 'published', files };
  try {
    const before = await findOutdated(ctx, row.id, revision);
    if (before !== null) return await takeBack(before);
    if (!(await place.isPublished(revision))) {
      for (const one of all) {
        const lost = await nameFile(
          ctx,
          row,
          { staging: place.staging, target: join(from, one.file.path) },
          one,
          whole,
        );
        if (lost !== null) return lost.type === 'outdated' ? await takeBack(lost) : lost;
      }
      await describe(row, whole, files, from);
      const paths = [...files.map(({ path }) => path), CARD, MANIFEST];
      const goesOn = async (sent: number): Promise<boolean> => {
        const sending = { files: sent, sizeBytes: sizeOf(files.slice(0, sent)) };
        const now = await noteSending(ctx.knex, row.id, {
          ...sending,
          ...{ ofFiles: paths.length, ofSizeBytes: sizeOf(files) },
        });
        return now?.cancel_requested_at === null && now.revision === revision;
      };
      if (!(await place.publish(from, paths, goesOn))) return { type: 'cancelled' };
    }
    await tidyStaging(place.staging, revision);
    const after = await completeExport(ctx, row.id, revision, files);
    return after === null ? { type: 'published', files } : await takeBack(after);
  } catch (error) {
    return { type: 'failed', error: exportError(error) };
  }
}

const sizeOf = (files: readonly ExportFile[]): number => files.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);

async function describe(row: ExportRow, whole: Whole, files: readonly ExportFile[], into: string): Promise<void> {
  const { revision, parts } = whole;
  const facts = {
    ...{ id: row.id, tenant: row.tenant, request: requestOf(row), snapshotAt: row.created_at.toISOString() },
    ...{ runs: row.runs ?? 0, skipped: parts.at(-1)?.skipped ?? {}, revision, files },
  };
  const card = datasetCard(facts);
  await writeText(join(into, CARD), card);
  await writeText(join(into, MANIFEST), `${JSON.stringify(exportManifest(facts, card), null, 2)}\n`);
}

const NOTHING: Far = { done: 0, rows: 0, skipped: {} };

/** A part that is on the disk of another worker, or was lost with one, is written again: to the same bytes. */
async function nameFile(
  ctx: StepContext,
  row: ExportRow,
  { staging, target }: { readonly staging: string; readonly target: string },
  { kind, part, file }: Placed,
  { revision, parts }: Whole,
): Promise<Exclude<Published, { type: 'published' }> | null> {
  if (await hasFile(target)) return null;
  // Of an earlier revision, if nothing in it was outdated.
  for (let one = revision; one >= 0; one--) {
    const source = partPath(revisionDir(staging, one), kind, part.part, file);
    if (!(await hasFile(source))) continue;
    await moveFile(source, target);
    return null;
  }
  const dir = revisionDir(staging, revision);
  const again = await writePart(ctx, row.id, dir, part.part, parts[part.part - 1] ?? NOTHING);
  if (again.type !== 'written') return again;
  if (again.files[kind]?.sha256 === file.sha256) {
    await moveFile(partPath(dir, kind, part.part, file), target);
    return null;
  }
  const found = await findOutdated(ctx, row.id, revision);
  if (found !== null) return found;
  throw new HoldfastError('export_failed', `Part ${part.part} was lost, and the runs in it are not the same any more.`);
}

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
