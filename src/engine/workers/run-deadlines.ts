import { KEEPS_AT_LEAST_MS } from '../../../steps/agents/family.js';
import { SYSTEM_ACTOR } from '../../../steps/interruptions/settle.js';
import { settleAndResume } from '../../../steps/interruptions/settle-and-resume.js';
import { undoesWhenOver } from '../../../workflows/open-segment.js';
import { HoldfastError } from '../../core/errors/errors.js';
import { isUndo } from '../../core/plans/node-call.js';
import { pendingOf } from '../../storage/interruptions/interruptions.js';
import {
  correctDeadline,
  type OverdueRun,
  overdueRuns,
  setKeepingDeadlines,
  timeOverText,
} from '../../storage/runs/run-deadlines.js';
import { limitsOf, type RunRow } from '../../storage/runs/run-row.js';
import { lockRun, readRun } from '../../storage/runs/runs.js';
import { dueItems } from '../concurrency/due-items.js';
import type { EngineContext } from '../engine-context.js';
import { stopByItself } from '../runs/cancel-run.js';

const AT_ONCE = 100;
/** Workers look every few seconds: what is due for longer, none has looked at. */
const UNWATCHED_MS = 60_000;

/**
 * Ends runs whose time from their start is over. A plan that undoes what it did waits for nothing but that any more; its next turn begins
 * to undo. All others are cancelled, with those below them: those that wait at once, and those at work as soon as they see it. A process
 * that dies with this leaves the rest to the next look.
 */
export function endOverdue(context: EngineContext): (isStopping: () => boolean) => Promise<void> {
  return dueItems<OverdueRun>({
    atOnce: AT_ONCE,
    find: (except, limit) => overdueRuns(context.stepContext.knex, except, limit),
    idOf: ({ id }) => id,
    work: (run) => end(context, run),
    failed: ({ id }, error) =>
      context.log.warn(
        { component: 'worker', event: 'run_not_ended', runId: id, error: String(error) },
        'a run whose time is over could not be cancelled; it is tried again',
      ),
  });
}

/** A row that says less than the limits of the run ends nothing. */
async function end(context: EngineContext, due: OverdueRun): Promise<void> {
  if (due.isCancelled) return endUnkept(context, due);
  const { id, limits, ageMs } = due;
  const { maxElapsedMs } = limitsOf({ id, limits });
  if (maxElapsedMs === undefined || ageMs < maxElapsedMs)
    return correctDeadline(context.stepContext.knex, id, maxElapsedMs);
  const reason = timeOverText(maxElapsedMs);
  const run = await readRun(context.stepContext.knex, id);
  if (run !== undefined && (await undoes(context, run))) return waitForUndoOnly(context, id, reason);
  await stopUnlessOver(context, id, reason);
}

/** Ends a cancelled run without its artifacts. Where no worker was there to keep them, those that are there now have the time again. */
async function endUnkept(context: EngineContext, due: OverdueRun): Promise<void> {
  if (due.lateMs <= UNWATCHED_MS) return stopUnlessOver(context, due.id, null);
  await setKeepingDeadlines(context.stepContext.knex, [due], KEEPS_AT_LEAST_MS);
}

async function stopUnlessOver(context: EngineContext, id: string, reason: string | null): Promise<void> {
  try {
    await stopByItself(context, { id, request: { actor: SYSTEM_ACTOR, reason } });
  } catch (error) {
    // It ended by itself meanwhile.
    if (!(error instanceof HoldfastError && error.code === 'run_over')) throw error;
  }
  context.changes.announce(id);
}

/** One that never began has nothing to undo. */
async function undoes({ versions }: EngineContext, run: RunRow): Promise<boolean> {
  if (run.status === 'queued' && run.segment === 0) return false;
  return undoesWhenOver((await versions.agentsOf(run)).get(run.agent), run);
}

/**
 * Ends what the nodes of a plan wait for, so that its next turn sees that its time is over. Runs below it end by their own time. Only a
 * person knows whether a call has happened that was begun before a crash, so that the plan waits for that answer.
 */
async function waitForUndoOnly({ stepContext }: EngineContext, id: string, message: string): Promise<void> {
  await settleAndResume(stepContext, async (settling) => {
    const run = await lockRun(settling.trx, id);
    if (run?.status !== 'paused') return;
    const pending = await pendingOf(settling.trx, id);
    const ended = pending.filter(
      ({ kind, reason, tool, call_id: callId }) =>
        kind !== 'child_run' &&
        reason !== 'unknown_effect' &&
        // A tool between two stages of its own is at work.
        (kind !== 'timer' || tool === 'sleep') &&
        callId !== null &&
        !isUndo(callId),
    );
    if (ended.length === 0) return;
    const settlement = { verdict: 'expire', actor: SYSTEM_ACTOR, message, value: null } as const;
    await settling.settleEach(
      ended.map((row) => ({ row, settling: settlement })),
      [id],
    );
  });
}
