import { compactFiles, isToCompact } from '../../storage/database/pglite/compact.js';
import type { Parts } from '../parts.js';
import { chore, ofAll } from '../workers/chore.js';

/** The embedded database works in this process: a larger table would keep it from everything else for too long. */
const TABLE_MAX_BYTES = 64 * 1024 * 1024;

/** Where the database is embedded: takes what was erased or removed out of its files. */
export async function compactErased(parts: Parts, isStopping: () => boolean): Promise<void> {
  const { database, world } = parts;
  if (database.kind !== 'pglite' || !(await isToCompact(world.knex))) return;
  await chore(parts, ofAll('compaction'), () => compact(parts, isStopping));
}

async function compact({ world, log }: Parts, isStopping: () => boolean): Promise<void> {
  const left = await compactFiles(world.knex, { maxBytes: TABLE_MAX_BYTES, isStopping });
  if (left === null) return;
  const what = { component: 'erasure', event: 'compacted', left };
  if (left.length === 0) log.info(what, 'the files of the database were compacted after an erasure');
  else
    log.warn(
      what,
      'tables of the database are too large to be compacted beside the work: stop the server and run `holdfast compact`',
    );
}
