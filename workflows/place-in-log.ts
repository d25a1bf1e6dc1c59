import { seqOfKey } from '../src/storage/log/read-events.js';
import { withDatabaseRetry } from '../steps/database-retry.js';
import type { SegmentContext } from './segment-context.js';

/** The number of an event of this segment in the log, which is written up to it first. */
export async function placeInLog({ source, log, ctx, run }: SegmentContext, key: string): Promise<number> {
  const known = source.seqOf(key);
  if (known !== null) return known;
  await log.flush();
  return withDatabaseRetry(() => seqOfKey(ctx.knex, run.id, key));
}
