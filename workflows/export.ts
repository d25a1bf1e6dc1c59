import { DBOS } from '@dbos-inc/dbos-sdk';
import { HoldfastError } from '../src/core/errors/errors.js';
import { revisionDir } from '../src/datasets/export-folder.js';
import { type ExportRow, readExport } from '../src/storage/exports/exports.js';
import type { StepContext } from '../steps/context.js';
import { beginExport, type ExportEnd, endExport, placeOf } from '../steps/exports/begin-export.js';
import { attempted } from '../steps/exports/counted-work.js';
import { type Published, publishExport } from '../steps/exports/publish-export.js';
import { type PartResult, type WrittenPart, writePart } from '../steps/exports/write-part.js';
import { abandonOnDatabaseOutage } from './durable-step.js';

/** Permanent: it is in the database. */
export const EXPORT_WORKFLOW = 'export';

/**
 * Exports trajectories, part by part. Each part is one step, so that the one that goes on begins with the part that is missing. What is
 * outdated when it is published, since a run in it was erased, is written again from the part on that has the run.
 */
export async function exportRun(ctx: StepContext, id: string): Promise<void> {
  const { end, tried = false } = await worked(ctx, id);
  await step('end', () => endExport(ctx, id, end, tried));
}

/** How an export ends, and whether its publishing was tried in vain. */
interface Worked {
  readonly end: ExportEnd;
  readonly tried?: boolean;
}

async function worked(ctx: StepContext, id: string): Promise<Worked> {
  const begun = await step('begin', () => attempted(ctx, id, 'begin', () => beginExport(ctx, id)));
  if (begun.type !== 'begun') return { end: endOf(begun) };
  const parts: WrittenPart[] = [];
  for (let revision = 0; ; ) {
    const stopped = await writeParts(ctx, id, { runs: begun.runs, revision }, parts);
    if (stopped !== null) return { end: endOf(stopped) };
    const publish = async (): Promise<Published> => {
      const row = await rowOf(ctx, id);
      return publishExport(ctx, row, placeOf(ctx, row), { revision, parts });
    };
    const published = await step('publish', () => attempted(ctx, id, 'publish', publish));
    if (published.type === 'published') return { end: { status: 'completed', files: published.files } };
    if (published.type !== 'outdated') return { end: endOf(published), tried: true };
    parts.length = published.from;
    revision = published.revision;
  }
}

/** Writes the parts that are missing. */
async function writeParts(
  ctx: StepContext,
  id: string,
  { runs, revision }: { readonly runs: number; readonly revision: number },
  parts: WrittenPart[],
): Promise<Stopped | null> {
  for (;;) {
    const far = parts.at(-1) ?? { done: 0, rows: 0, skipped: {} };
    if (far.done >= runs) return null;
    const part = parts.length;
    const write = async (): Promise<PartResult> => {
      const { staging } = placeOf(ctx, await rowOf(ctx, id));
      return writePart(ctx, id, revisionDir(staging, revision), part, far);
    };
    const written = await step(`part:${part}`, () => attempted(ctx, id, `part:${part}`, write));
    if (written.type !== 'written') return written;
    parts.push(written);
  }
}

const step = <T>(name: string, work: () => Promise<T>): Promise<T> =>
  DBOS.runStep(() => abandonOnDatabaseOutage(work), { name });

async function rowOf({ knex }: StepContext, id: string): Promise<ExportRow> {
  const row = await readExport(knex, id);
  if (row === undefined) throw new HoldfastError('export_unknown', `There is no export ${id}.`);
  return row;
}

type Stopped = Extract<PartResult | Published, { type: 'cancelled' | 'failed' }>;

const endOf = (stop: Stopped): ExportEnd =>
  stop.type === 'failed' ? { status: 'failed', error: stop.error } : { status: 'cancelled' };
