import { compactFiles, isToCompact } from '../../storage/database/pglite/compact.js';
import type { EngineContext } from '../engine-context.js';
import { chore, ofAll } from '../workers/chore.js';

/** The embedded database works in this process: a larger table would keep it from everything else for too long. */
const TABLE_MAX_BYTES = 64 * 1024 * 1024;

/** Where the database is embedded: takes what was erased or removed out of its files. */
export async function compactErased(context: EngineContext, isStopping: () => boolean): Promise<void> {
  const { database, stepContext } = context;
  if (database.kind !== 'pglite' || !(await isToCompact(stepContext.knex))) return;
  await chore(context, ofAll('compaction'), () => compact(context, isStopping));
}

async function compact({ stepContext, log }: EngineContext, isStopping: () => boolean): Promise<void> {
  const left = await compactFiles(stepContext.knex, { maxBytes: TABLE_MAX_BYTES, isStopping });
  if (left === null) return;
  const what = { component: 'erasure', event: 'compacted', left };
  if (left.length === 0) log.info(what, 'the files of the database were compacted after an erasure');
  else
    log.warn(
      what,
      'tables of the database are too large to be compacted beside the work: stop the server and run `holdfast compact`',
    );
}
