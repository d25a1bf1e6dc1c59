import { SYSTEM_ACTOR } from '../../../steps/interruptions/settle.js';
import { HoldfastError } from '../../core/errors/errors.js';
import { databaseTrouble } from '../../storage/database/database-trouble.js';
import { correctDeadline, type OverdueRun, overdueRuns } from '../../storage/runs/run-deadlines.js';
import { limitsOf } from '../../storage/runs/run-row.js';
import type { EngineContext } from '../engine-context.js';
import { stopByItself } from '../runs/cancel-run.js';

const AT_ONCE = 100;
/** One that could not be cancelled is left alone for so long, so that it holds up no other. */
const AGAIN_AFTER_MS = 10_000;
const FAILED_MAX = 1000;

/**
 * Cancels runs, with those below them, whose time from their start is over: those that wait at once, and those at work as soon as they
 * see it. A process that dies with this leaves the rest to the next look.
 */
export function endOverdue(context: EngineContext): (isStopping: () => boolean) => Promise<void> {
  const failed = new Map<string, number>();
  const postpone = ({ id }: OverdueRun, error: unknown): void => {
    if (databaseTrouble(error) !== null) throw error;
    if (failed.size < FAILED_MAX) failed.set(id, performance.now() + AGAIN_AFTER_MS);
    context.log.warn(
      { component: 'worker', event: 'run_not_ended', runId: id, error: String(error) },
      'a run whose time is over could not be cancelled; it is tried again',
    );
  };
  return async (isStopping) => {
    const now = performance.now();
    for (const [id, again] of failed) if (again <= now) failed.delete(id);
    for (let more = true; more && !isStopping(); ) {
      const due = await overdueRuns(context.stepContext.knex, [...failed.keys()], AT_ONCE);
      for (const run of due) await end(context, run).catch((error: unknown) => postpone(run, error));
      more = due.length === AT_ONCE;
    }
  };
}

/** A row that says less than the limits of the run ends nothing. */
async function end(context: EngineContext, { id, limits, ageMs }: OverdueRun): Promise<void> {
  const { maxElapsedMs } = limitsOf({ id, limits });
  if (maxElapsedMs === undefined || ageMs < maxElapsedMs)
    return correctDeadline(context.stepContext.knex, id, maxElapsedMs);
  const reason = `It had ${maxElapsedMs} ms from its start (maxElapsedMs).`;
  try {
    await stopByItself(context, { id, request: { actor: SYSTEM_ACTOR, reason } });
  } catch (error) {
    // It ended by itself meanwhile.
    if (!(error instanceof HoldfastError && error.code === 'run_over')) throw error;
  }
  context.changes.announce(id);
}
