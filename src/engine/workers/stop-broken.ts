import { setTimeout as sleep } from 'node:timers/promises';
import type { Knex } from 'knex';
import { endFamily, stopRun } from '../../../steps/agents/family.js';
import type { Caller } from '../../core/caller.js';
import { HoldfastError } from '../../core/errors/errors.js';
import { isOver } from '../../core/runs/run.js';
import { hasWorkingSegment } from '../../storage/dbos/segment-rows.js';
import { pendingOf, settleInterruptions } from '../../storage/interruptions/interruptions.js';
import { takesEvents } from '../../storage/retention/lost-rows.js';
import { liveBelow, lockFamily } from '../../storage/runs/families.js';
import type { RunRow } from '../../storage/runs/run-row.js';
import { updateRun } from '../../storage/runs/runs.js';
import type { EngineContext } from '../engine-context.js';

const STOPS_WITHIN_MS = 10_000;
const LOOK_EVERY_MS = 100;
const WHY = 'Its log is broken; it is repaired in a run of its own.';

/**
 * Stops a run whose log is broken, with those below it and all that they wait for, and waits until they are over. What works is asked
 * to stop first. Repeating it is no error. Throws `run_not_over` where a worker does not let go.
 */
export async function stopBroken(context: EngineContext, id: string, caller: Caller): Promise<void> {
  const { stepContext } = context;
  for (let waitedMs = 0; ; waitedMs += LOOK_EVERY_MS) {
    const stopping = await stepContext.knex.transaction((trx) => stopLocked(context, trx, id, caller));
    for (const one of stopping) context.running.cancel(one);
    stepContext.queue.wake();
    context.changes.announce(id);
    const working = await liveBelow(stepContext.knex, id);
    if (working === null) return;
    if (waitedMs >= STOPS_WITHIN_MS)
      throw new HoldfastError('run_not_over', `Run ${working.id} is ${working.status}, and was asked to stop.`, {
        hint: 'Repeat it in a moment: nothing else was changed. If its worker has died, another one must run to end it.',
      });
    await sleep(LOOK_EVERY_MS);
  }
}

/** Gives the runs that work and are asked to stop. */
async function stopLocked(
  { stepContext }: EngineContext,
  trx: Knex.Transaction,
  id: string,
  { actor }: Caller,
): Promise<readonly string[]> {
  const run = await lockFamily(trx, id);
  if (run === undefined || isOver(run.status)) return [];
  if (await takesEvents(trx, id))
    return run.cancel_requested_at === null || run.status === 'queued'
      ? stopRun(stepContext, trx, run, { actor, reason: WHY, atOnce: true })
      : [];
  if (await hasWorkingSegment(trx, run)) {
    await updateRun(trx, id, { cancel_requested_at: new Date(stepContext.now()), cancel_reason: WHY });
    return [id];
  }
  return endByRows({ stepContext }, trx, run);
}

/** Ends a run whose log takes no event any more: its rows alone say so. */
async function endByRows(
  { stepContext }: Pick<EngineContext, 'stepContext'>,
  trx: Knex.Transaction,
  run: RunRow,
): Promise<readonly string[]> {
  const pending = await pendingOf(trx, run.id);
  await settleInterruptions(
    trx,
    pending.map(({ id }) => ({ id, status: 'cancelled' })),
  );
  const at = new Date(stepContext.now());
  const over = await updateRun(trx, run.id, {
    ...{ status: 'cancelled', cancel_requested_at: at, cancel_reason: WHY, completed_at: at },
  });
  await stepContext.queue.withdraw(trx, [{ runId: run.id, segment: run.segment }]);
  return endFamily(stepContext, trx, over);
}
