import * as utils from '@dbos-inc/dbos-sdk/internal/utils';
import { z } from 'zod';

/**
 * Uses a private part of the DBOS SDK 5.3: while the database is away DBOS tries again after pauses that double up to a
 * minute. Runs should go on sooner when it is back. Where the part is missing, the minute is what remains.
 */

const MAX_PAUSE_SEC = 5;

const shape = z.object({ dbRetryConfig: z.object({ maxBackoffSec: z.number() }) });

/** False: DBOS has changed inside. */
export function tryAgainSooner(): boolean {
  if (!shape.safeParse(utils).success) return false;
  utils.dbRetryConfig.maxBackoffSec = MAX_PAUSE_SEC;
  return true;
}
