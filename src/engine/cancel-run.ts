import { stopRun } from '../../steps/family.js';
import type { Caller } from '../core/caller.js';
import { HoldfastError } from '../core/errors.js';
import { plainText } from '../core/json.js';
import type { RunView } from '../core/run.js';
import { isOver } from '../core/run.js';
import { lockFamily } from '../storage/families.js';
import { findRun, runViewOf } from '../storage/runs.js';
import type { Parts } from './parts.js';

/**
 * Stops a run and those below it. One that waits is over at once; one that works is asked to, and what it has in flight is aborted. A run
 * that has ended by itself before it saw the request has ended.
 */
export async function cancelRun(parts: Parts, id: string, reason: string | null, caller: Caller): Promise<RunView> {
  const { world } = parts;
  const seen = await findRun(world.knex, caller.tenant, id);
  if (seen === undefined) throw new HoldfastError('run_unknown', `There is no run ${JSON.stringify(id)}.`);
  const why = reason === null ? null : plainText(reason);
  const stopping = await world.knex.transaction(async (trx) => {
    const run = await lockFamily(trx, id);
    if (run === undefined || run.status === 'cancelled') return [];
    if (isOver(run.status)) throw new HoldfastError('run_over', `Run ${id} is ${run.status}.`);
    if (run.cancel_requested_at !== null) return [];
    return stopRun(world, trx, run, { actor: caller.actor, reason: why });
  });
  for (const one of stopping) parts.running.cancel(one);
  world.queue.wake();
  parts.changes.announce(id);
  const row = await findRun(world.knex, caller.tenant, id);
  return runViewOf(row ?? seen, []);
}
