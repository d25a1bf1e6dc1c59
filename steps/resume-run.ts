import type { Knex } from 'knex';
import { lockRun, queueIfDecided, type RunRow } from '../src/storage/runs.js';
import type { World } from './world.js';

/** Locks a run and resumes it, if nothing that it waits for is undecided. */
export async function resumeIfDecided(world: World, trx: Knex.Transaction, runId: string): Promise<void> {
  const run = await lockRun(trx, runId);
  if (run !== undefined) await resumeLocked(world, trx, run);
}

/**
 * The one place that decides whether a paused run goes on; always under the run's row lock. `settled` is the interruption
 * that this transaction settles beside it.
 */
export async function resumeLocked(
  world: World,
  trx: Knex.Transaction,
  run: RunRow,
  settled: string | null = null,
): Promise<void> {
  if (run.status !== 'paused' || !(await queueIfDecided(trx, run.id, settled))) return;
  await world.queue.enqueue(trx, { run, segment: run.segment, band: 'resumed' });
}
