import { settle } from '../../steps/settle.js';
import { isoNow } from '../../steps/world.js';
import type { Caller } from '../core/caller.js';
import { HoldfastError } from '../core/errors.js';
import { plainText } from '../core/json.js';
import type { RunView } from '../core/run.js';
import { isOver } from '../core/run.js';
import { appendEvents } from '../storage/events.js';
import { pendingOf } from '../storage/interruptions.js';
import { findRun, lockRun, runViewOf, updateRun } from '../storage/runs.js';
import type { Parts } from './parts.js';

/**
 * Stops a run. One that waits is over at once; one that works is asked to, and what it has in flight is aborted. A run
 * that has ended by itself before it saw the request has ended.
 */
export async function cancelRun(parts: Parts, id: string, reason: string | null, caller: Caller): Promise<RunView> {
  const { world } = parts;
  const seen = await findRun(world.knex, caller.tenant, id);
  if (seen === undefined) throw new HoldfastError('run_unknown', `There is no run ${JSON.stringify(id)}.`);
  const why = reason === null ? null : plainText(reason);
  await world.knex.transaction(async (trx) => {
    const run = await lockRun(trx, id);
    if (run === undefined || run.status === 'cancelled') return;
    if (isOver(run.status)) throw new HoldfastError('run_over', `Run ${id} is ${run.status}.`);
    if (run.cancel_requested_at !== null) return;
    const context = { at: isoNow(world), worker: null };
    const asked = {
      key: 'cancel',
      parentKey: 'created',
      kind: 'run.cancel_requested',
      data: { actor: caller.actor, reason: why },
    } as const;
    await appendEvents(trx, id, [asked], context);
    const request = { cancel_requested_at: new Date(world.now()), cancel_reason: why };
    if (run.status === 'running') return updateRun(trx, id, request);
    for (const row of await pendingOf(trx, id)) {
      await settle(world, trx, row, { verdict: 'cancel', actor: caller.actor, message: why, value: null });
    }
    await appendEvents(
      trx,
      id,
      [{ key: 'end', parentKey: 'cancel', kind: 'run.cancelled', data: { reason: why } }],
      context,
    );
    await updateRun(trx, id, { ...request, status: 'cancelled', completed_at: new Date(world.now()) });
  });
  parts.running.cancel(id);
  parts.changes.announce(id);
  const row = await findRun(world.knex, caller.tenant, id);
  return runViewOf(row ?? seen, []);
}
