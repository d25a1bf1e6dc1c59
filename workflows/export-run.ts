import { DBOS } from '@dbos-inc/dbos-sdk';
import { HoldfastError } from '../src/core/errors.js';
import { type ExportRow, readExport } from '../src/storage/exports.js';
import { beginExport, type ExportEnd, endExport } from '../steps/begin-export.js';
import { placeOf } from '../steps/place-of.js';
import { type Published, publishExport } from '../steps/publish-export.js';
import type { World } from '../steps/world.js';
import { type PartResult, type WrittenPart, writePart } from '../steps/write-part.js';
import { orGiveUp } from './give-up.js';

/** Permanent: it is in the database. */
export const EXPORT_WORKFLOW = 'export';

/** Exports trajectories, part by part. Each part is one step, so that whoever goes on begins with the part that is missing. */
export async function exportRun(world: World, id: string): Promise<void> {
  const { end, tried = null } = await worked(world, id);
  await step('end', () => endExport(world, id, end, tried));
}

/** How an export ends, and the parts of one whose publishing was tried in vain. */
interface Worked {
  readonly end: ExportEnd;
  readonly tried?: readonly WrittenPart[];
}

async function worked(world: World, id: string): Promise<Worked> {
  const begun = await step('begin', () => beginExport(world, id));
  if (begun.type !== 'begun') return { end: endOf(begun) };
  const parts: WrittenPart[] = [];
  for (;;) {
    const far = parts.at(-1) ?? { done: 0, rows: 0, skipped: {} };
    if (far.done >= begun.runs) break;
    const part = parts.length;
    const written = await step(`part:${part}`, async () => {
      const { staging } = placeOf(world, await rowOf(world, id));
      return writePart(world, id, staging, part, far);
    });
    if (written.type !== 'written') return { end: endOf(written) };
    parts.push(written);
  }
  const published = await step('publish', async () => {
    const row = await rowOf(world, id);
    return publishExport(world, row, placeOf(world, row), parts);
  });
  return published.type === 'published'
    ? { end: { status: 'completed', files: published.files } }
    : { end: endOf(published), tried: parts };
}

const step = <T>(name: string, work: () => Promise<T>): Promise<T> => DBOS.runStep(() => orGiveUp(work), { name });

async function rowOf({ knex }: World, id: string): Promise<ExportRow> {
  const row = await readExport(knex, id);
  if (row === undefined) throw new HoldfastError('export_unknown', `There is no export ${id}.`);
  return row;
}

const endOf = (stop: Extract<PartResult | Published, { type: 'cancelled' | 'failed' }>): ExportEnd =>
  stop.type === 'failed' ? { status: 'failed', error: stop.error } : { status: 'cancelled' };
