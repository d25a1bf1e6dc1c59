import { DBOS } from '@dbos-inc/dbos-sdk';
import { HoldfastError } from '../src/core/errors.js';
import { type ExportRow, readExport } from '../src/storage/exports.js';
import { beginExport, type ExportEnd, endExport, folderOf } from '../steps/begin-export.js';
import { type Published, publishExport } from '../steps/publish-export.js';
import type { World } from '../steps/world.js';
import { type PartResult, type WrittenPart, writePart } from '../steps/write-part.js';
import { orGiveUp } from './give-up.js';

/** Permanent: it is in the database. */
export const EXPORT_WORKFLOW = 'export';

/** Exports trajectories, part by part. Each part is one step, so that whoever goes on begins with the part that is missing. */
export async function exportRun(world: World, id: string): Promise<void> {
  const end = await worked(world, id);
  await step('end', () => endExport(world, id, end));
}

async function worked(world: World, id: string): Promise<ExportEnd> {
  const begun = await step('begin', () => beginExport(world, id));
  if (begun.type !== 'begun') return endOf(begun);
  const parts: WrittenPart[] = [];
  for (;;) {
    const far = parts.at(-1) ?? { done: 0, rows: 0, skipped: {} };
    if (far.done >= begun.runs) break;
    const part = parts.length;
    const written = await step(`part:${part}`, async () => {
      const { staging } = folderOf(world, await rowOf(world, id));
      return writePart(world, id, staging, part, far);
    });
    if (written.type !== 'written') return endOf(written);
    parts.push(written);
  }
  const published = await step('publish', async () => {
    const row = await rowOf(world, id);
    return publishExport(world, row, folderOf(world, row), parts);
  });
  return published.type === 'published' ? { status: 'completed', files: published.files } : endOf(published);
}

const step = <T>(name: string, work: () => Promise<T>): Promise<T> => DBOS.runStep(() => orGiveUp(work), { name });

async function rowOf({ knex }: World, id: string): Promise<ExportRow> {
  const row = await readExport(knex, id);
  if (row === undefined) throw new HoldfastError('export_unknown', `There is no export ${id}.`);
  return row;
}

const endOf = (stop: Extract<PartResult | Published, { type: 'cancelled' | 'failed' }>): ExportEnd =>
  stop.type === 'failed' ? { status: 'failed', error: stop.error } : { status: 'cancelled' };
