import type { Knex } from 'knex';
import { EVENT_DATA } from '../../core/log/event.js';
import type { TrustLabel } from '../../core/tools/tool-memory.js';
import { readEvent } from './read-events.js';

/** Who asked for a run, and for those that it was made of, as its log says; empty: its log does not say. */
export async function requestersOf(db: Knex, runId: string): Promise<readonly string[]> {
  const first = await readEvent(db, runId, 1);
  return EVENT_DATA['run.created'].safeParse(first?.data).data?.requestedBy ?? [];
}

/** Labels of what a run was given: from the run above it, or from its session. */
export async function labelsGiven(db: Knex, runId: string): Promise<readonly TrustLabel[]> {
  const first = await readEvent(db, runId, 1);
  return EVENT_DATA['run.created'].safeParse(first?.data).data?.labels ?? [];
}
