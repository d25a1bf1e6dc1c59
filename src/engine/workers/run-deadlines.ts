import { KEEPS_AT_LEAST_MS } from '../../../steps/agents/family.js';
import { SYSTEM_ACTOR } from '../../../steps/interruptions/settle.js';
import { settleAndResume } from '../../../steps/interruptions/settle-and-resume.js';
import { undoesWhenOver } from '../../../workflows/open-segment.js';
import { HoldfastError } from '../../core/errors/errors.js';
import { isUndo } from '../../core/plans/node-call.js';
import { databaseTrouble } from '../../storage/database/database-trouble.js';
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
import type { EngineContext } from '../engine-context.js';
import { stopByItself } from '../runs/cancel-run.js';

const AT_ONCE = 100;
/** One that could not be cancelled is left alone for so long, so that it holds up no other. */
const AGAIN_AFTER_MS = 10_000;
const FAILED_MAX = 1000;
/** Workers look every few seconds: what is due for longer, none has looked at. */
const UNWATCHED_MS = 60_000;

/**
 * Ends runs whose time from their start is over. A plan that undoes what it did waits for nothing but that any more; its next turn begins
 * to undo. All others are cancelled, with those below them: those that wait at once, and those at work as soon as they see it. A process
 * that dies with this leaves the rest to the next look.
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
    // A plan that undoes stays due until it has ended.
    const seen = new Set(failed.keys());
    for (let more = true; more && !isStopping(); ) {
      const due = await overdueRuns(context.stepContext.knex, [...seen], AT_ONCE);
      for (const { id } of due) seen.add(id);
      for (const run of due) await end(context, run).catch((error: unknown) => postpone(run, error));
      more = due.length === AT_ONCE;
    }
  };
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
