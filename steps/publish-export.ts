import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { datasetCard, exportManifest } from '../src/core/dataset-card.js';
import type { ErrorView } from '../src/core/errors.js';
import { HoldfastError } from '../src/core/errors.js';
import type { ExportEncoding, ExportFile } from '../src/core/export.js';
import { hasFile, moveFile, writeText } from '../src/datasets/export-folder.js';
import type { ExportPlace } from '../src/datasets/export-place.js';
import { type ExportRow, readExport, requestOf } from '../src/storage/exports.js';
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

const CARD = 'README.md';
const MANIFEST = 'manifest.json';

/** What an export consists of, in the order in which it is published. */
export const exportPaths = (parts: readonly WrittenPart[], encoding: ExportEncoding): readonly string[] => [
  ...placed(parts, encoding).map(({ file }) => file.path),
  ...[CARD, MANIFEST],
];

/** Gives the parts their names, adds card and manifest, and puts all of it in its place: it is there as a whole or not at all. */
export async function publishExport(
  world: World,
  row: ExportRow,
  place: ExportPlace,
  parts: readonly WrittenPart[],
): Promise<Published> {
  const request = requestOf(row);
  const all = placed(parts, request.options.encoding);
  const files = all.map(({ file }) => file);
  const { staging } = place;
  try {
    if (await place.isPublished()) return { type: 'published', files };
    for (const one of all) {
      const lost = await nameFile(world, row, staging, one, parts);
      if (lost !== null) return lost;
    }
    const last = parts.at(-1);
    const facts = {
      ...{ id: row.id, tenant: row.tenant, request, snapshotAt: row.created_at.toISOString() },
      ...{ runs: row.runs ?? 0, skipped: last?.skipped ?? {}, files },
    };
    const card = datasetCard(facts);
    await writeText(join(staging, CARD), card);
    await rm(join(staging, 'parts'), { recursive: true, force: true });
    await writeText(join(staging, MANIFEST), `${JSON.stringify(exportManifest(facts, card), null, 2)}\n`);
    const goesOn = async () => (await readExport(world.knex, row.id))?.cancel_requested_at === null;
    const isThere = await place.publish(exportPaths(parts, request.options.encoding), goesOn);
    return isThere ? { type: 'published', files } : { type: 'cancelled' };
  } catch (error) {
    return { type: 'failed', error: exportError(error) };
  }
}

const NOTHING: Far = { done: 0, rows: 0, skipped: {} };

/** A part that is on the disk of another worker, or was lost with one, is written again: to the same bytes. */
async function nameFile(
  world: World,
  row: ExportRow,
  staging: string,
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
