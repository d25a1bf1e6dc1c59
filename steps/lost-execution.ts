import { isOwner } from '../src/storage/workers.js';
import { patiently } from './patience.js';
import type { World } from './world.js';

/** Another process has this one's place, or the run is over: what is left of this execution asks nobody and keeps nothing. */
export class LostExecutionError extends Error {
  constructor(runId: string) {
    super(`This execution of run ${runId} was given up: its worker was taken over, or the run is over.`);
    this.name = 'LostExecutionError';
  }
}

/** Throws `LostExecutionError` when a newer process has the worker id, as one that stood still finds out when it wakes. */
export async function assertStillOwner({ knex, worker }: World, runId: string): Promise<void> {
  if (!(await patiently(() => isOwner(knex, worker.id, worker.epoch)))) throw new LostExecutionError(runId);
}
