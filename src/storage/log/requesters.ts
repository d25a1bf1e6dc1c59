import type { Knex } from 'knex';
import { EVENT_DATA, type EventData } from '../../core/log/event.js';
import type { TrustLabel } from '../../core/tools/tool-memory.js';
import { readEvent } from './read-events.js';

/** What the log of a run says of its creation; undefined: it does not say. */
export async function creationOf(db: Knex, runId: string): Promise<EventData<'run.created'> | undefined> {
  const first = await readEvent(db, runId, 1);
  return EVENT_DATA['run.created'].safeParse(first?.data).data;
}

/** Who asked for a run, and for those that it was made of, as its log says; empty: its log does not say. */
export const requestersOf = async (db: Knex, runId: string): Promise<readonly string[]> =>
  (await creationOf(db, runId))?.requestedBy ?? [];

/** Labels of what a run was given: from the run above it, or from its session. */
export const labelsGiven = async (db: Knex, runId: string): Promise<readonly TrustLabel[]> =>
  (await creationOf(db, runId))?.labels ?? [];
