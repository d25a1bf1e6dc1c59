import type { Knex } from 'knex';
import { pendingOf } from '../src/storage/interruptions.js';
import { lockRun, type RunRow, updateRun } from '../src/storage/runs.js';
import type { World } from './world.js';

/** Resumed runs, and what they start, come before new ones. */
export const resumedPriority = (run: RunRow): number => Math.max(1, Math.floor(run.priority / 2));

/** The one place that decides whether a paused run goes on; always under the run's row lock. */
export async function resumeIfDecided(world: World, trx: Knex.Transaction, runId: string): Promise<void> {
  const run = await lockRun(trx, runId);
  if (run === undefined || run.status !== 'paused') return;
  if ((await pendingOf(trx, runId)).length > 0) return;
  await updateRun(trx, runId, { status: 'queued' });
  await world.queue.enqueue(trx, { runId, segment: run.segment, priority: resumedPriority(run) });
}
