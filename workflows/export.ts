import { DBOS } from '@dbos-inc/dbos-sdk';
import { HoldfastError } from '../src/core/errors/errors.js';
import { revisionDir } from '../src/datasets/export-folder.js';
import { type ExportRow, readExport } from '../src/storage/exports/exports.js';
import { attempted } from '../steps/exports/attempt-export.js';
import { beginExport, type ExportEnd, endExport } from '../steps/exports/begin-export.js';
import { placeOf } from '../steps/exports/place-of.js';
import { type Published, publishExport } from '../steps/exports/publish-export.js';
import { type PartResult, type WrittenPart, writePart } from '../steps/exports/write-part.js';
import type { World } from '../steps/context.js';
import { orGiveUp } from './give-up.js';

/** Permanent: it is in the database. */
export const EXPORT_WORKFLOW = 'export';

/**
 * Exports trajectories, part by part. Each part is one step, so that whoever goes on begins with the part that is missing. What is
 * outdated when it is published, since a run in it was erased, is written again from the part on that has the run.
 */
export async function exportRun(world: World, id: string): Promise<void> {
  const { end, tried = false } = await worked(world, id);
  await step('end', () => endExport(world, id, end, tried));
}

/** How an export ends, and whether its publishing was tried in vain. */
interface Worked {
  readonly end: ExportEnd;
  readonly tried?: boolean;
}

async function worked(world: World, id: string): Promise<Worked> {
  const begun = await step('begin', () => attempted(world, id, 'begin', () => beginExport(world, id)));
  if (begun.type !== 'begun') return { end: endOf(begun) };
  const parts: WrittenPart[] = [];
  for (let revision = 0; ; ) {
    const stopped = await writeParts(world, id, { runs: begun.runs, revision }, parts);
    if (stopped !== null) return { end: endOf(stopped) };
    const publish = async (): Promise<Published> => {
      const row = await rowOf(world, id);
      return publishExport(world, row, placeOf(world, row), { revision, parts });
    };
    const published = await step('publish', () => attempted(world, id, 'publish', publish));
    if (published.type === 'published') return { end: { status: 'completed', files: published.files } };
    if (published.type !== 'outdated') return { end: endOf(published), tried: true };
    parts.length = published.from;
    revision = published.revision;
  }
}

/** Writes the parts that are missing. */
async function writeParts(
  world: World,
  id: string,
  { runs, revision }: { readonly runs: number; readonly revision: number },
  parts: WrittenPart[],
): Promise<Stopped | null> {
  for (;;) {
    const far = parts.at(-1) ?? { done: 0, rows: 0, skipped: {} };
    if (far.done >= runs) return null;
    const part = parts.length;
    const write = async (): Promise<PartResult> => {
      const { staging } = placeOf(world, await rowOf(world, id));
      return writePart(world, id, revisionDir(staging, revision), part, far);
    };
    const written = await step(`part:${part}`, () => attempted(world, id, `part:${part}`, write));
    if (written.type !== 'written') return written;
    parts.push(written);
  }
}

const step = <T>(name: string, work: () => Promise<T>): Promise<T> => DBOS.runStep(() => orGiveUp(work), { name });

async function rowOf({ knex }: World, id: string): Promise<ExportRow> {
  const row = await readExport(knex, id);
  if (row === undefined) throw new HoldfastError('export_unknown', `There is no export ${id}.`);
  return row;
}

type Stopped = Extract<PartResult | Published, { type: 'cancelled' | 'failed' }>;

const endOf = (stop: Stopped): ExportEnd =>
  stop.type === 'failed' ? { status: 'failed', error: stop.error } : { status: 'cancelled' };
