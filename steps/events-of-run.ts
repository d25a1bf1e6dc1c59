import type { RunEvent } from '../src/core/log/event.js';
import { readEvents } from '../src/storage/log/read-events.js';
import type { StepContext } from './context.js';
import { withDatabaseRetry } from './database-retry.js';

const EVENTS_AT_ONCE = 200;

/** Reads the log of a run from its first event, some events at a time. */
export async function* eventsOfRun({ knex }: Pick<StepContext, 'knex'>, runId: string): AsyncGenerator<RunEvent> {
  for (let after = 0, more = true; more; ) {
    const page = await withDatabaseRetry(() => readEvents(knex, runId, after, EVENTS_AT_ONCE));
    yield* page.rows;
    after = page.rows.at(-1)?.seq ?? after;
    more = page.more;
  }
}
