import type { Knex } from 'knex';
import { isToStop, type Stop, type StopRequest, stopEach, stopRun } from '../../../steps/agents/family.js';
import type { StepContext } from '../../../steps/context.js';
import type { Caller } from '../../core/caller.js';
import { HoldfastError } from '../../core/errors/errors.js';
import { plainText } from '../../core/json.js';
import { isOver, type RunView } from '../../core/runs/run.js';
import { lockFamily, takeAlone } from '../../storage/runs/families.js';
import { type RunRow, runViewOf } from '../../storage/runs/run-row.js';
import { findRun } from '../../storage/runs/runs.js';
import { together } from '../concurrency/together.js';
import type { Changes } from '../log/changes.js';
import type { RunningSegments } from '../workers/running-segments.js';

/** Runs that one transaction cancels. */
const AT_ONCE = 100;

interface Asked {
  readonly id: string;
  readonly request: StopRequest;
}

interface CancelScope {
  readonly stepContext: StepContext;
  readonly changes: Changes;
  readonly running: RunningSegments;
}

export type CancelRun = (id: string, reason: string | null, caller: Caller) => Promise<RunView>;

/**
 * Cancellations: a run and those below it are stopped. One that waits is over at once; one that works is asked to, and what it has in flight
 * is aborted. A run that has ended by itself before it saw the request has ended. What many ask for in the same moment is done in transactions
 * for many, but for runs of a family and those that someone else holds: each of these is done by itself, and no one waits for it.
 */
export function cancellations(context: CancelScope): CancelRun {
  const stop = together<Asked, void>({
    atMost: AT_ONCE,
    key: ({ id }) => id,
    doAll: (all) => stopTogether(context, all),
    doOne: (one) => stopByItself(context, one),
  });
  return async (id, reason, caller) => {
    const seen = await findRun(context.stepContext.knex, caller.tenant, id);
    if (seen === undefined) throw new HoldfastError('run_unknown', `There is no run ${JSON.stringify(id)}.`);
    await stop({ id, request: { actor: caller.actor, reason: reason === null ? null : plainText(reason) } });
    context.changes.announce(id);
    const row = await findRun(context.stepContext.knex, caller.tenant, id);
    return runViewOf(row ?? seen, []);
  };
}

/** Cancels one run with those below it. Throws `run_over`. */
export async function stopByItself(context: Omit<CancelScope, 'changes'>, { id, request }: Asked): Promise<void> {
  const { stepContext } = context;
  const stopping = await stepContext.knex.transaction(async (trx) => {
    const run = await lockFamily(trx, id);
    return run === undefined || !isOpen(stepContext, run) ? [] : stopRun(stepContext, trx, run, request);
  });
  tell(context, stopping);
}

/** Throws `run_over`. */
function isOpen(context: Pick<StepContext, 'now'>, run: RunRow): boolean {
  const { id, status } = run;
  if (status === 'cancelled') return false;
  if (isOver(status)) throw new HoldfastError('run_over', `Run ${id} is ${status}.`);
  return isToStop(context, run);
}

/** Stops those of the runs that no one holds and that are in no family. Of each of these it says that it is done, or throws why it is not. */
async function stopTogether(context: CancelScope, all: readonly Asked[]): Promise<ReadonlyMap<string, () => void>> {
  const requests = new Map(all.map(({ id, request }) => [id, request]));
  const done = new Map<string, () => void>();
  const stopping = await context.stepContext.knex.transaction(async (trx: Knex.Transaction) => {
    const stops: Stop[] = [];
    for (const run of await takeAlone(trx, [...requests.keys()])) {
      const request = requests.get(run.id);
      if (request === undefined) continue;
      done.set(run.id, () => void isOpen(context.stepContext, run));
      if (!isOver(run.status) && isToStop(context.stepContext, run)) stops.push({ run, request });
    }
    return stopEach(context.stepContext, trx, stops);
  });
  tell(context, stopping);
  return done;
}

function tell({ running, stepContext }: Omit<CancelScope, 'changes'>, stopping: readonly string[]): void {
  for (const one of stopping) running.cancel(one);
  stepContext.queue.wake();
}
