import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { datasetCard, exportManifest } from '../src/core/dataset-card.js';
import type { ErrorView } from '../src/core/errors.js';
import { HoldfastError } from '../src/core/errors.js';
import type { ExportEncoding, ExportFile } from '../src/core/export.js';
import {
  type ExportFolder,
  hasFile,
  isPublished,
  moveFile,
  publishFolder,
  writeText,
} from '../src/datasets/export-folder.js';
import { type ExportRow, requestOf } from '../src/storage/exports.js';
import { exportError } from './export-error.js';
import type { World } from './world.js';
import { type Far, PART_KINDS, type PartKind, partPath, type WrittenPart, writePart } from './write-part.js';

export type Published =
  | { readonly type: 'published'; readonly files: readonly ExportFile[] }
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

function placed(parts: readonly WrittenPart[], encoding: ExportEncoding): Placed[] {
  return PART_KINDS.flatMap((kind) => {
    const those = parts.flatMap((part) => {
      const file = part.files[kind];
      return file === null ? [] : [{ part, file }];
    });
    return those.map(({ part, file }, index) => ({
      ...{ kind, part },
      file: {
        path: `${FOLDER_OF[kind]}/${kind}-${five(index)}-of-${five(those.length)}.${kind === 'runs' ? 'jsonl' : encoding}`,
        split: kind === 'runs' ? null : kind,
        ...file,
      },
    }));
  });
}

/** Gives the parts their names, adds card and manifest, and then the folder its name: it is there as a whole or not at all. */
export async function publishExport(
  world: World,
  row: ExportRow,
  folder: ExportFolder,
  parts: readonly WrittenPart[],
): Promise<Published> {
  const request = requestOf(row);
  const all = placed(parts, request.options.encoding);
  const files = all.map(({ file }) => file);
  try {
    if (await isPublished(folder, row.id)) return { type: 'published', files };
    for (const one of all) {
      const lost = await place(world, row, folder, one, parts);
      if (lost !== null) return lost;
    }
    const last = parts.at(-1);
    const facts = {
      ...{ id: row.id, tenant: row.tenant, request, snapshotAt: row.created_at.toISOString() },
      ...{ runs: row.runs ?? 0, skipped: last?.skipped ?? {}, files },
    };
    const card = datasetCard(facts);
    await writeText(join(folder.staging, 'README.md'), card);
    await rm(join(folder.staging, 'parts'), { recursive: true, force: true });
    await writeText(join(folder.staging, 'manifest.json'), `${JSON.stringify(exportManifest(facts, card), null, 2)}\n`);
    await publishFolder(folder, row.id);
    return { type: 'published', files };
  } catch (error) {
    return { type: 'failed', error: exportError(error) };
  }
}

const NOTHING: Far = { done: 0, rows: 0, skipped: {} };

/** A part that is on the disk of another worker, or was lost with one, is written again: to the same bytes. */
async function place(
  world: World,
  row: ExportRow,
  { staging }: ExportFolder,
  { kind, part, file }: Placed,
  parts: readonly WrittenPart[],
): Promise<Exclude<Published, { type: 'published' }> | null> {
  const target = join(staging, file.path);
  if (await hasFile(target)) return null;
  const source = partPath(staging, kind, part.part);
  if (!(await hasFile(source))) {
    const again = await writePart(world, row.id, staging, part.part, parts[part.part - 1] ?? NOTHING);
    if (again.type !== 'written') return again;
    if (again.files[kind]?.sha256 !== file.sha256)
      throw new HoldfastError(
        'export_failed',
        `Part ${part.part} was lost, and the runs in it are not the same any more.`,
      );
  }
  await moveFile(source, target);
  return null;
}
